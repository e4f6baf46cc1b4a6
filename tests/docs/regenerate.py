"""Writes the parts of the documentation that the program produces: `scripts/docs`."""

from __future__ import annotations

from .cast import CAST, record, text_of
from .generate import OTHER_PARTS, SESSION_PARTS, schema_files
from .pages import ROOT, with_region


def main() -> None:
    for file, text in schema_files().items():
        file.write_text(text, encoding="utf-8")
    drawn = record()
    if text_of(drawn) != text_of(CAST.read_text(encoding="utf-8")):
        CAST.write_text(drawn, encoding="utf-8")
    for part in (*SESSION_PARTS, *OTHER_PARTS):
        name = f"{part.page.relative_to(ROOT)}: {part.name}"
        # Run ids and times differ always; they alone are no reason to write.
        if part.is_current():
            print(f"{name}: as it was")
            continue
        text = part.page.read_text(encoding="utf-8")
        part.page.write_text(with_region(text, part.name, part.produce()), encoding="utf-8")
        print(f"{name}: written")


if __name__ == "__main__":
    main()
