"""Compares what the commands of "My bot lost: what now?" print with what the page shows."""

from pathlib import Path

from tools.docs.transcripts import PAGE, sections, transcript

SECTIONS = sections(PAGE.read_text(encoding="utf-8"))


def check_transcript(heading: str, folder: Path) -> None:
    """Run a section in an empty folder. Its bot loses by a bug, which is found and fixed."""
    shown = SECTIONS[heading]
    printed = transcript(shown, folder)
    assert printed == shown, "python -m tools transcripts writes what is printed now"
