"""The contracts between the parts of the engine: operators and their steps, kernels, frames, recorders."""
