// A function that asks before it runs. The code of the README replaces the marked line.
import { Desk, NotApproved } from "@pausepoint/client";
import { tell, threadId } from "./shared.mjs";

const ran = [];
const bank = {
  refund: async (order, amount) => {
    ran.push([order, amount]);
    if (amount < 1) throw new Error("too little");
    return { refunded: amount };
  },
};
const desk = new Desk();
try {
  // THE PAGE
  tell({ ran, result });
} catch (error) {
  tell({ ran, name: error.name, message: error.message, isRefusal: error instanceof NotApproved });
}
