"""Event time: timelines, arrivals, what came too late, and what another watermark would have kept."""
