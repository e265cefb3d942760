"""What becomes of an answer: `facts` reads all that it depends on, `outcome` rules over that, and `writes` stores the outcome."""
