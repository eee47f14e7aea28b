"""Writes docs/export.schema.json, what a line of `kgsvc export` may be: python -m scripts.export_schema"""

import json
from pathlib import Path

from kgsvc.commands.transfer.rows import schema

if __name__ == "__main__":
    path = Path(__file__).resolve().parent.parent / "docs" / "export.schema.json"
    path.write_text(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
