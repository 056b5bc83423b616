"""The frame of every page: top bar, engine status, page tools, stories, paging."""
