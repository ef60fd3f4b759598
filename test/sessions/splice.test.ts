import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Message, messageText } from "../../src/core/message.ts";
import { continuedLength, splice } from "../../src/sessions/splice.ts";
import { calls, result, said, system, user } from "../helpers/talk.ts";

const STORED = [
  system("Be brief."),
  user("What is 2 + 2?"),
  calls("python", '{"code": "2 + 2"}', "Let me see. "),
  result("python", "4"),
  said("It is 4.", "easy"),
];
const [, QUESTION, ...ANSWER] = STORED;

describe("a known session", () => {
  test("continues with the client's full conversation", () => {
    const sent = [
      system("Be brief."),
      user("What is 2 + 2?"),
      said("Let me see. It is 4."),
      user("And 3 + 3?"),
    ];
    expect(splice(STORED, sent)).toEqual([...STORED, user("And 3 + 3?")]);
    const lastPartOnly = [user("What is 2 + 2?"), said("It is 4."), user("And 3 + 3?")];
    expect(splice(STORED, lastPartOnly)).toEqual([...STORED.slice(1), user("And 3 + 3?")]);
  });

  test("continues with new messages only", () => {
    expect(splice(STORED, [user("And 3 + 3?")])).toEqual([...STORED, user("And 3 + 3?")]);
    const withOtherFrame = [system("Be long."), user("And 3 + 3?")];
    expect(splice(STORED, withOtherFrame)).toEqual([
      system("Be long."),
      ...STORED.slice(1),
      user("And 3 + 3?"),
    ]);
    const pending = [user("Do it."), calls("mine")];
    expect(splice(pending, [result("mine", "done")])).toEqual([...pending, result("mine", "done")]);
  });

  test("recognizes a message in another form", () => {
    const sent: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is " },
          { type: "text", text: "2 + 2?\r\n" },
        ],
      },
      said("Let me see. It is 4. "),
      user("And 3 + 3?"),
    ];
    expect(splice(STORED, sent)).toEqual([...STORED.slice(1), user("And 3 + 3?")]);
  });

  test("drops what the client truncated or edited", () => {
    expect(splice(STORED, [user("What is 2 + 2?")])).toEqual([user("What is 2 + 2?")]); // asked once more
    const edited = [user("What is 2 + 2?"), said("It is 5."), user("Sure?")];
    expect(splice(STORED, edited)).toEqual(edited);
    const other = [user("Hello"), said("Hi"), user("Bye")];
    expect(splice(STORED, other)).toEqual(other);
  });

  test("keeps the client's tool turns beside the server's", () => {
    const stored = [
      user("Book it."),
      calls("search"),
      result("search", "found"),
      calls("book", '{"id":1}'),
      result("book", "ok"),
      said("Booked."),
    ];
    const sent = [
      user("Book it."),
      calls("book", '{ "id": 1 }'),
      result("book", "ok"),
      said("Booked."),
      user("Thanks."),
    ];
    expect(splice(stored, sent)).toEqual([...stored, user("Thanks.")]);
  });

  test("that ends in a tool turn takes the client's tool result", () => {
    const stored = [user("What is 2 + 2?"), ...ANSWER.slice(0, 2)];
    const sent = [user("What is 2 + 2?"), said("It is 4."), user("And 3 + 3?")];
    expect(splice(stored, sent)).toEqual([...stored, said("It is 4."), user("And 3 + 3?")]);
  });

  test("without messages takes the sent ones", () => {
    expect(splice([], [user("Hi")])).toEqual([user("Hi")]);
    expect(splice([system("S")], [user("Hi")])).toEqual([system("S"), user("Hi")]);
    expect(splice(STORED, [system("Only a frame.")])).toEqual([system("Only a frame."), ...STORED.slice(1)]);
  });
});

describe("a conversation without a session id", () => {
  test("continues a session with the same start, once the model has answered", () => {
    const sent = [user("What is 2 + 2?"), said("Let me see. It is 4."), user("And 3 + 3?")];
    expect(continuedLength(STORED, sent)).toBe(4);
    expect(continuedLength([user("What is 2 + 2?")], sent)).toBe(0); // nobody has answered there
    expect(continuedLength(STORED, sent.slice(0, 2))).toBe(0); // nothing new
    expect(continuedLength(STORED, [user("What is 2 + 2?"), said("It is 5."), user("?")])).toBe(0);
    expect(continuedLength([...STORED, user("more"), said("more")], sent)).toBe(0); // an earlier state of it
    expect(continuedLength(STORED, [QUESTION ?? user("")])).toBe(0);
  });
});

/** A round of an answer that only the server sees, and an answer of such rounds and a last word. */
const round = fc
  .tuple(fc.string({ maxLength: 6 }), fc.nat(9), fc.string({ maxLength: 6 }))
  .map(([words, n, output]) => [calls(`tool${n}`, `{"n":${n}}`, words), result(`tool${n}`, output)]);
const turn = fc.record({
  question: fc.string({ maxLength: 8 }),
  rounds: fc.array(round, { maxLength: 3 }),
  answer: fc.string({ minLength: 1, maxLength: 8 }),
});

test("for any conversation, the client's view restores the whole", () => {
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 5 }), fc.boolean(), (turns, isJoined) => {
      const stored = turns.flatMap(({ question, rounds, answer }) => [
        user(question),
        ...rounds.flat(),
        said(answer),
      ]);
      const seen = turns.flatMap(({ question, rounds, answer }) => {
        const before = rounds.map(([call]) => (call === undefined ? "" : messageText(call))).join("");
        return [user(question), said(isJoined ? before + answer : answer)];
      });
      const next = user("a new question");
      expect(splice(stored, [...seen, next])).toEqual([...stored, next]);
      expect(continuedLength(stored, [...seen, next])).toBe(stored.length);
    }),
    { numRuns: 1000 },
  );
});
