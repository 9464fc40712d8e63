// HTML text of the reply to GET /: a page to try the model in a browser. It loads nothing from other servers.
#pragma once

#include <string_view>

namespace smelt::server {

inline constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>smelt serve</title>
<style>
  body { font: 16px/1.5 sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
  textarea, pre { width: 100%; box-sizing: border-box; font: 14px/1.5 monospace }
  pre { white-space: pre-wrap; border: 1px solid #999; padding: .5rem; min-height: 6rem }
  input { width: 5rem }
  #key { width: 24rem }
  #model { overflow-wrap: anywhere }
</style>
<h1 id="model">smelt serve</h1>
<p>This page sends what stands below to <code>POST /v1/completions</code>. See also
<a href="/v1/models">models</a>, <a href="/metrics">metrics</a> and <a href="/health">health</a>.</p>
<p id="access" hidden><label>API key <input id="key" type="password" size="40"></label></p>
<textarea id="prompt" rows="6">Once upon a time</textarea>
<p>
  <label>new tokens <input id="max_tokens" type="number" value="64" min="1"></label>
  <label>temperature <input id="temperature" type="number" value="0.8" min="0" max="2" step="0.1"></label>
  <label>top p <input id="top_p" type="number" value="0.95" min="0.01" max="1" step="0.01"></label>
  <label>seed <input id="seed" type="number"></label>
  <button id="run">Continue</button> <button id="stop" disabled>Stop</button>
</p>
<pre id="text"></pre>
<p id="counts" role="status">&nbsp;</p>
<script>
  const at = id => document.getElementById(id);
  let control = null, begin = 0, first = 0, tokens = 0;
  const headers = () => at('key').value ? { Authorization: 'Bearer ' + at('key').value } : {};
  async function name() {
    const reply = await fetch('/v1/models', { headers: headers() });
    at('access').hidden = at('access').hidden && reply.status !== 401;
    if (!reply.ok) return;
    const list = await reply.json();
    at('model').textContent = list.data[0].id;
    document.title = list.data[0].id + ' - smelt serve';
  }
  name();
  at('key').onchange = name;
  function body() {
    const result = { prompt: at('prompt').value, stream: true, stream_options: { include_usage: true } };
    for (const name of ['max_tokens', 'temperature', 'top_p', 'seed'])
      if (at(name).value !== '') result[name] = Number(at(name).value);
    return JSON.stringify(result);
  }
  function show(line) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') return;
    const data = JSON.parse(line.slice(6));
    if (data.error) return at('text').textContent += '\n' + data.error.message;
    for (const choice of data.choices) {
      first ||= performance.now();
      tokens += choice.token_ids.length;
      at('text').textContent += choice.text;
    }
    count(data.usage);
  }
  // The rate is that of the tokens behind the first one, which waits for the prompt to be read.
  function count(usage) {
    const seconds = (performance.now() - first) / 1000;
    const rate = tokens > 1 && seconds > 0 ? ', ' + ((tokens - 1) / seconds).toFixed(1) + ' tokens/s' : '';
    const prompt = usage ? usage.prompt_tokens + ' tokens of the prompt, ' : '';
    const wait = first ? ', the first after ' + ((first - begin) / 1000).toFixed(2) + ' s' : '';
    at('counts').textContent = prompt + tokens + ' new tokens' + wait + rate;
  }
  async function read(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = '';;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      lines.forEach(show);
    }
  }
  at('run').onclick = async () => {
    control = new AbortController();
    at('run').disabled = true, at('stop').disabled = false, at('text').textContent = at('prompt').value;
    begin = performance.now(), first = 0, tokens = 0, at('counts').textContent = 'reading the prompt';
    try {
      const response = await fetch('/v1/completions', { method: 'POST', headers: headers(), body: body(), signal: control.signal });
      if (response.ok) await read(response);
      else at('text').textContent = (await response.json()).error.message, at('counts').textContent = '';
    } catch (error) {
      if (error.name !== 'AbortError') at('text').textContent += '\n' + error;
    }
    at('run').disabled = false, at('stop').disabled = true;
  };
  at('stop').onclick = () => control.abort();
</script>
</html>
)html";

}  // namespace smelt::server
