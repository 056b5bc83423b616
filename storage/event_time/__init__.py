"""Event time: timelines, arrivals, late records, and the effect of another watermark delay."""
