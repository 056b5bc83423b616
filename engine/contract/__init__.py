"""What the parts of the engine promise each other: operators and their steps, kernels, frames, recorders."""
