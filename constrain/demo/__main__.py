"""`python -m constrain.demo`"""

import sys

from constrain.demo import main

sys.exit(main())
