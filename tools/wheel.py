"""Contents of a wheel besides the package: the built console, if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ConsoleFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        built = Path(self.root) / "console" / "dist"
        # An editable install reads the files in place.
        if self.target_name == "wheel" and version == "standard" and (built / "index.html").is_file():
            build_data["force_include"][str(built)] = "crofter/console_files"
