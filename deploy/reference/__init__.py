"""Small servers that stand for the external systems: they show the contract, feed the demo, and fail on order. Not for production."""
