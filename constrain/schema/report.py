"""What became of each keyword: the findings of one compilation, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal

__all__ = ["Finding", "Report", "Status"]

Status = Literal["enforced", "relaxed", "refused", "note"]


@dataclass(frozen=True)
class Finding:
    """One remark on the source.

    pointer: JSON pointer of the schema that has the keyword.     keyword: its name, "" when the schema itself is meant.
    status:  enforced, relaxed (lenient only: the keyword has no effect), refused, or note (nothing is lost).
    """

    pointer: str
    keyword: str
    status: Status
    reason: str

    def __str__(self) -> str:
        where = self.pointer or "/"
        return f"{self.status}: {where}{f' {self.keyword}' if self.keyword else ''}: {self.reason}"


@dataclass
class Report:
    """The findings of one compilation, in the order in which they were made; the same finding is kept once."""

    findings: list[Finding] = field(default_factory=list)
    subschemas: int = 0
    """How many subschemas were read; all that no finding names is enforced."""
    _known: set[Finding] = field(default_factory=set, init=False, repr=False, compare=False)

    def add(self, pointer: str, keyword: str, status: Status, reason: str) -> None:
        finding = Finding(pointer, keyword, status, reason)
        if finding not in self._known:
            self._known.add(finding)
            self.findings.append(finding)

    def having(self, status: Status) -> list[Finding]:
        return [finding for finding in self.findings if finding.status == status]

    @property
    def is_exact(self) -> bool:
        """Whether nothing was relaxed or refused."""
        return not any(finding.status in ("relaxed", "refused") for finding in self.findings)

    @property
    def summary(self) -> str:
        """One line: what was read, and what became of it."""
        counts = {status: sum(f.status == status for f in self.findings) for status in ("relaxed", "refused", "note")}
        return f"{self.subschemas} subschemas, " + ", ".join(f"{n} {status}" for status, n in counts.items())

    def to_json(self) -> list[dict[str, str]]:
        return [asdict(finding) for finding in self.findings]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)
