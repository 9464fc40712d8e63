// smelt serve: a model over HTTP, as OpenAI's clients speak it (docs/guides/serving.md).
#include <chrono>
#include <cstdio>
#include <optional>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/serve_caches.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/server/batch_follower.h"
#include "compiler/server/end_signal.h"
#include "compiler/server/http_server.h"
#include "compiler/server/listening_thread.h"
#include "runtime/base/error.h"
#include "runtime/cpu/small_m.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/memory_room.h"
#include "runtime/tools/tool_format.h"

namespace smelt::cli {
namespace {

constexpr int64_t kDefaultSlots = 8;
constexpr size_t kMoreConnections = 256;  // in addition to those whose requests run or wait

struct ServeCommand {
  std::string model, host = "127.0.0.1", name, tool_parser = "auto";
  int port = 8080;
  int64_t slots = 0;
  size_t queue = 64, chunk = 0, draft_tokens = 0;
  bool no_special_tokens = false, no_shared_prefixes = false, lazy = false, log_requests = false;
  std::string api_keys;
  size_t most_per_key = 0;
  int64_t drain_seconds = 0;
  std::vector<std::string> allowed_hosts, allowed_origins;
  CacheFlags caches;
  CompileFlags flags;
  WeightFlags weights;
};

/// Asks for runs of several tokens per row, which read drafts, unless other options say whether there are
/// such runs.
void mix_rows(CompileOptions& options) {
  if (options.build.step_tokens || resolved_target(options).can.launches) return;
  options.build.has_sampler = true, options.build.step_tokens = SmallM::kMostRows;
}

CompileOptions compile_options(const ServeCommand& options, const Model& model, const InferenceRanks* ranks,
                               DefaultBounds& bounds) {
  CompileOptions result = options.flags.options();
  if (ranks) ranks->add_to(result);
  result.mode = Mode::infer;
  bounds.add(result.build.bounds, "B", options.slots > 0 ? options.slots : kDefaultSlots, "--slots");
  options.caches.apply(model, result);
  if (options.draft_tokens > 0) mix_rows(result);
  if (result.build.cache_pages == 0) result.build.has_sampler = false;  // slots leave it to the host
  result.entries = generation_entries(model, result);
  return result;
}

std::string name_of(const ServeCommand& options) {
  if (!options.name.empty()) return options.name;
  const auto path = std::filesystem::absolute(options.model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string caches_text(const ContinuousBatchCounts& counts) {
  const std::string bytes = "caches " + bytes_text(counts.cache_bytes);
  return counts.pages.total == 0
             ? bytes
             : fmt::format("{}, {} pages of {} tokens", bytes, counts.pages.total, kPageTokens);
}

/// The URL is the one line on standard output, for programs that start a server at any free port. It comes
/// last: who has read it finds the other line written, too.
void announce(const ServeCommand& options, int port, const ContinuousBatchCounts& counts) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  fmt::print(stderr, "model '{}', {} slots, {}, {} requests may wait; Ctrl-C ends\n", name_of(options),
             counts.slots, caches_text(counts), options.queue);
  fmt::print("listening on http://{}:{}\n", is_ipv6 ? "[" + options.host + "]" : options.host, port);
  std::fflush(stdout);
}

/// Waits for a signal, for the end of the listening, or, where there are other ranks, for a fault.
void wait_for_end(server::ListeningThread& listening, server::BatchThread& batch,
                  const server::EndSignal& signal, bool has_ranks) {
  struct NoWake {  // before the signal is gone
    server::ListeningThread& listening;
    server::BatchThread& batch;
    ~NoWake() { listening.on_fault({}), batch.on_fault({}); }
  } const no_wake{listening, batch};
  listening.on_fault([&] { signal.wake(); });
  if (has_ranks) batch.on_fault([&] { signal.wake(); });
  signal.wait();
}

/// Lets requests end that run or wait, for --drain-seconds.
void drain(const ServeCommand& options, server::HttpServer& http, server::BatchThread& batch) {
  if (options.drain_seconds == 0) return;
  fmt::print(stderr, "draining: open requests have {} s to end; a second signal ends the server at once\n",
             options.drain_seconds);
  http.drain();
  if (!batch.wait_idle(std::chrono::seconds(options.drain_seconds)))
    fmt::print(stderr, "note: requests that did not end in {} s are cut off\n", options.drain_seconds);
}

/// The state of a rank of a server.
struct Served {
  Model model;
  std::unique_ptr<Session> session;
  ContinuousBatchOptions batch;
};

Served open_served(const ServeCommand& options, const Json& all, InferenceRanks* ranks) {
  Served served;
  DefaultBounds bounds;
  served.model = open_model(options.model, options.weights);
  const bool is_first = !ranks || ranks->is_first();
  if (served.model.weights && !is_first) served.model.weights->note.clear();
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first, flags.says_memory &= is_first;
  compile_model(served.model, compile_options(options, served.model, ranks, bounds), flags);
  served.model.bounds = bounds;
  require_text_writer(served.model.plan->model);
  if (is_first) tell_unknown_fields(served.model);
  SessionOptions session = options.weights.session_options();
  if (ranks)
    ranks->add_to(session, *served.model.plan), ranks->agree("the server", served.model, all);
  else
    require_mesh(*served.model.plan, nullptr);
  served.session = open_session(served.model, options.weights, session);
  served.batch = {.slots = static_cast<size_t>(options.slots),
                  .most_waiting = options.queue,
                  .chunk = options.chunk,
                  .shares_prefixes = !options.no_shared_prefixes,
                  .prepares = !options.lazy,
                  .draft = options.draft_tokens};
  return served;
}

server::HttpOptions http_options(const ServeCommand& options) {
  server::HttpOptions result{.connections = kMoreConnections,
                             .allowed_hosts = options.allowed_hosts,
                             .allowed_origins = options.allowed_origins,
                             .most_per_key = options.most_per_key};
  if (!options.api_keys.empty()) result.keys = server::ApiKeys::load(options.api_keys);
  if (options.log_requests)
    result.log = [](const server::RequestRecord& record) {
      fmt::print(stderr, "{}\n", server::log_line(record));
    };
  return result;
}

/// The port, which is open from the start: while the model is compiled and loaded, /health says so.
struct OpenPort {
  explicit OpenPort(const ServeCommand& options)
      : http(http_options(options)), number(http.bind(options.host, options.port)), listening(http) {}
  server::HttpServer http;
  int number;
  server::ListeningThread listening;
};

std::string description_of(const Model& model) { return model.about.is_null() ? "" : model.about.dump(); }

/// Sets the format of calls of tools: the one of the option, or the one that the chat template is for.
void choose_tools(const std::string& parser, server::ChatSource& chats) {
  if (parser == "none") {
    chats.why_no_tools = "the server was started with --tool-parser none, so it reads no calls from answers";
    return;
  }
  chats.tools = parser == "auto" ? tools::recognize_format(chats.text->source_with_tools())
                                 : tools::find_format(parser);
  chats.why_no_tools =
      "the chat template shows no format of calls that the server can read: start it with "
      "--tool-parser and one of " +
      tools::format_names();
}

/// A template that is not valid refuses chats, and nothing else.
server::ChatSource chats_of(const ServeCommand& options, const Model& model, const PromptText& texts) {
  if (!texts.known()) return {std::nullopt, "the model has no tokenizer, so it cannot answer chats"};
  try {
    server::ChatSource chats{.text = ChatText::load(model.path)};
    if (chats.text) {
      choose_tools(options.tool_parser, chats);
      return chats;
    }
  } catch (const Error& error) {
    fmt::print(stderr, "note: chats are refused: {}\n", error.what());
    return {std::nullopt, error.what()};
  }
  return {std::nullopt, fmt::format("'{}' has no chat template (chat_template.jinja, or chat_template in "
                                    "tokenizer_config.json)",
                                    model.path.string())};
}

/// Answers until a signal or a fault. Requests that are open then are ended as failed.
void answer_clients(const ServeCommand& options, const Served& served, OpenPort& port, bool has_ranks) {
  server::BatchThread batch(*served.session, served.batch);
  const PromptText texts(served.model, batch.vocabulary(), !options.no_special_tokens);
  const server::RequestMaker maker(texts, description_of(served.model));
  server::CompletionService completions(batch, texts, maker, name_of(options),
                                        chats_of(options, served.model, texts));
  const server::EndSignal signal;  // before anyone knows that there is a server to be ended
  port.http.serve(batch, completions, batch.most_requests());
  announce(options, port.number, batch.counts());
  wait_for_end(port.listening, batch, signal, has_ranks);
  drain(options, port.http, batch);
  batch.close();
  port.listening.finish();
  if (has_ranks && !batch.fault().empty()) fail("{}", batch.fault());
}

/// Ignores a signal that comes to all ranks. The first rank handles it and ends the others. The signal may
/// come here even later, while the process exits; so the object is never destroyed.
void leave_signals_to_first() {
  static const auto* const forever = new server::EndSignal;
  (void)forever;
}

void follow_first(const ServeCommand& options, const Served& served) {
  server::BatchFollower batch(*served.session, served.batch);
  const PromptText texts(served.model, batch.vocabulary(), !options.no_special_tokens);
  const server::RequestMaker maker(texts, description_of(served.model));
  batch.run([&](const server::AskedCompletion& asked) { return maker.again(asked); });
}

void run_serve(const ServeCommand& options, const Json& all, InferenceRanks* ranks) {
  const bool is_first = !ranks || ranks->is_first();
  save_addresses();
  if (!is_first) leave_signals_to_first();  // before the first one is told that all are there
  std::optional<OpenPort> port;
  if (is_first) port.emplace(options);
  const Served served = open_served(options, all, ranks);
  if (is_first)
    answer_clients(options, served, *port, ranks != nullptr);
  else
    follow_first(options, served);
}

void add_limits(CLI::App& command, ServeCommand& options) {
  command
      .add_option("--slots", options.slots, "requests that run together (default: 8, or those of the plan)")
      ->check(CLI::PositiveNumber);
  command.add_option("--queue", options.queue, "requests that may wait for a slot; others are refused")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--chunk", options.chunk,
                  "tokens of prompts that are read between two of the others' tokens (default: 64; with "
                  "--step-tokens as many as a run may have)")
      ->check(CLI::PositiveNumber);
  command
      .add_option(
          "--drain-seconds", options.drain_seconds,
          "after a signal: seconds for open requests to end, while new ones are refused; 0: they are cut off")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  options.caches.add_to(command);
  command.add_flag(
      "--lazy", options.lazy,
      "on a GPU: open the port before the sizes of runs are prepared; the first request of each size waits");
  command
      .add_option(
          "--draft-tokens", options.draft_tokens,
          "speculation by prompt lookup: read up to this many tokens ahead that followed the same tokens "
          "earlier in the text; the answers are the same; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command.add_flag("--no-shared-prefixes", options.no_shared_prefixes,
                   "of caches in pages: read every prompt from its beginning");
}

void add_texts(CLI::App& command, ServeCommand& options) {
  std::vector<std::string> parsers = {"auto", "none"};
  for (const tools::ToolFormat& format : tools::tool_formats()) parsers.emplace_back(format.name);
  command.add_flag("--no-special-tokens", options.no_special_tokens, "add none around any prompt");
  command
      .add_option(
          "--tool-parser", options.tool_parser,
          "format in which the model writes calls of tools: auto (by the chat template), none (requests "
          "with tools are refused), or the name of a format")
      ->check(CLI::IsMember(parsers))
      ->capture_default_str();
}

void add_access(CLI::App& command, ServeCommand& options) {
  CLI::Option* keys =
      command
          .add_option(
              "--api-keys", options.api_keys,
              "file of keys, one per line, KEY or NAME KEY: clients must send one for the paths below /v1, "
              "/tokenize and /detokenize")
          ->check(CLI::ExistingFile);
  command
      .add_option("--most-per-key", options.most_per_key,
                  "completions that a key may have at a time; others are refused (default: any number)")
      ->check(CLI::PositiveNumber)
      ->needs(keys);
  command.add_flag("--log-requests", options.log_requests,
                   "write a line of JSON per request to standard error");
}

}  // namespace

void add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeCommand>();
  CLI::App* command = app.add_subcommand("serve", "Answer OpenAI's clients over HTTP with a decoder");
  command->add_option("model", options->model, "model directory, run directory, spec or plan")->required();
  command
      ->add_option("--host", options->host,
                   "address to listen at; others than this machine's are open to all")
      ->capture_default_str();
  command->add_option("--port", options->port, "port; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      ->add_option(
          "--allow-host", options->allowed_hosts,
          "host that clients and pages may reach the server by, HOST or HOST:PORT, beside localhost or "
          "the address; may be given several times")
      ->allow_extra_args(false)
      ->type_name("HOST");
  command
      ->add_option(
          "--allow-origin", options->allowed_origins,
          "web pages of other hosts that may use the server (CORS), SCHEME://HOST, SCHEME://HOST:PORT, or * "
          "for all; default: none; may be given several times")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
  command->add_option("--name", options->name,
                      "what clients know the model by (default: the name of its file)");
  add_texts(*command, *options);
  add_limits(*command, *options);
  add_access(*command, *options);
  options->flags.add_to(*command, {OptionGroup::sampling, OptionGroup::serving, OptionGroup::ranks});
  options->weights.add_to(*command);
  command->callback([options, command] {
    infer_over_ranks(options->flags.values.mesh, "serve",
                     [&](InferenceRanks* ranks) { run_serve(*options, resolved_config(*command), ranks); });
  });
}

}  // namespace smelt::cli
