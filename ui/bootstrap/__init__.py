"""From a bare Python to a running app: one virtual environment, kept in step with requirements.txt.

Standard library only, because it runs before anything is installed. This file must parse on any Python 3,
so that an old interpreter can report what it lacks.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - an old interpreter gets a sentence instead of a SyntaxError
    sys.exit(
        f"Changelog Studio needs Python 3.11 or newer, but {sys.executable} is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}. Use a newer one, such as python3.11."
    )
