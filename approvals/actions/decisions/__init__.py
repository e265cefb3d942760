"""The outcome of an answer: `facts` reads everything it depends on, `outcome` evaluates it, and `writes` stores it."""
