"""The built canvas as package data: what Streamlit needs to find it. The sources lie beside the package."""

from typing import Final

COMPONENT: Final = "changelog-studio-canvas.canvas"
SCRIPT: Final = "canvas.js"
PICTURE: Final = "picture.js"
SHOTS: Final = "shots.js"
CAMERA: Final = "camera.js"
COMMANDS: Final = "commands.js"
CHARTS: Final = "charts.js.gz"
