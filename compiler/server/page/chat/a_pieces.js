// Pieces of an answer: the texts and tokens of an event, in the same form for chats and completions. A piece is
// {text, tokens}; a token is {text, bytes, probability, best}, and best lists the most probable tokens, which have no best.
// Completions have no bytes. Tokens of single bytes may then have the same text, and best has only one of them.

const scored = (text, bytes, logarithm) => ({ text, bytes: bytes ? bytes.join(" ") : text, probability: Math.exp(logarithm) });
const sorted = tokens => tokens.sort((a, b) => b.probability - a.probability);

function chatPiece(choice) {
  const of = one => scored(one.token, one.bytes, one.logprob);
  const tokens = choice.logprobs ? choice.logprobs.content : [];
  return {
    text: choice.delta.content || "",
    tokens: tokens.map(one => ({ ...of(one), best: sorted(one.top_logprobs.map(of)) })),
  };
}

function completionPiece(choice) {
  const scores = choice.logprobs || { tokens: [] };
  const best = i => Object.entries(scores.top_logprobs[i]).map(([text, score]) => scored(text, null, score));
  return {
    text: choice.text,
    tokens: scores.tokens.map((text, i) => ({ ...scored(text, null, scores.token_logprobs[i]), best: sorted(best(i)) })),
  };
}

const pieceOf = choice => choice.delta ? chatPiece(choice) : completionPiece(choice);

// Calls `take` with each event of a reply, which is a stream of server-sent events.
async function readEvents(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "";;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines)
      if (line.startsWith("data: ") && line !== "data: [DONE]") take(JSON.parse(line.slice(6)));
  }
}
