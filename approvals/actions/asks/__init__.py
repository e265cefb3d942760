"""What becomes of an ask: `facts` reads all that it depends on, `outcome` rules over that, and `writes` stores the outcome."""
