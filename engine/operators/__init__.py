"""One file per operator: parameters, kernel, schema rule, changelog rule, Flink SQL. Found by `engine.registry`."""
