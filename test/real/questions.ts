// Questions that a small model can answer.

export const QUESTIONS: readonly (readonly [question: string, answer: RegExp])[] = [
  ["What is the capital of France?", /paris/i],
  ["What is the capital of Italy?", /rome/i],
  ["What is 2 + 2?", /4/],
  ["What color is the sky on a clear day?", /blue/i],
  ["What is the opposite of hot?", /cold/i],
  ["How many days are in a week?", /7|seven/i],
  ["What is the largest planet in our solar system?", /jupiter/i],
  ["What is the chemical formula of water?", /h2o/i],
  ["Who wrote Romeo and Juliet?", /shakespeare/i],
  ["What animal says meow?", /cat/i],
];
