"""`python -m cellwire`: the command line."""

from .app.cli import main

raise SystemExit(main())
