"""Time travel: the player, the canvas and the lanes at an event, the state of a key."""
