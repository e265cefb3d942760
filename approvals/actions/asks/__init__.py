"""The outcome of an ask: `facts` reads everything it depends on, `outcome` evaluates it, and `writes` stores it."""
