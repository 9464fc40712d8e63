// smelt serve: a model over HTTP, as OpenAI's clients speak it (docs/guides/serving.md).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <new>
#include <optional>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/serve_options.h"
#include "compiler/cli/commands/serve_replicas.h"
#include "compiler/cli/commands/serve_texts.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/draft_model.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/server/batch_follower.h"
#include "compiler/server/completion_service.h"
#include "compiler/server/end_signal.h"
#include "compiler/server/http_server.h"
#include "compiler/server/listening_thread.h"
#include "runtime/base/error.h"
#include "runtime/engine/adapters/adapter_files.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/plan/device_kind.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/memory_room.h"
#include "runtime/tools/tool_format.h"

namespace smelt::cli {
namespace {

constexpr int64_t kDefaultSlots = 8;
constexpr size_t kMoreConnections = 256;  // in addition to those whose requests run or wait
/// With more users than this, drafts by a model make a server on a CPU slower (docs/guides/serving.md).
constexpr size_t kDraftUsersOnCpu = 4;
constexpr size_t kDefaultTextQueue = 4096;
constexpr size_t kMostTextConnections = 1024;  // fewer, because a request may have many texts

/// The state of a rank of a server.
struct Served {
  Model model;
  std::unique_ptr<Session> session;
  std::optional<DraftModel> draft = {};  // that makes drafts for the model
  ContinuousBatchOptions batch;
  std::optional<TextServing> texts = {};  // of a model that reads whole texts
};

/// Plans the rows that read drafts, in addition to those of the requests.
void plan_drafts(const ServeOptions& options, Served& served, CompileOptions& result) {
  if (options.draft.most_tokens() == 0 || !served.model.description) return;
  served.batch.slots = static_cast<size_t>(add_draft_rows(served.model, result, options.draft.most_tokens()));
}

/// Removes the entries that sample: with caches in slots the host does so. Candidates for beam searches stay,
/// and so does the choice of beams if these can begin at any time.
void leave_sampling_to_host(std::vector<std::string>& entries) {
  const bool begins_beams = std::ranges::count(entries, entry::begin_beams) > 0;
  for (const char* name : {entry::next, entry::next_guided, entry::next_beams_guided})
    std::erase(entries, name);
  if (!begins_beams) std::erase(entries, entry::next_beams);
}

CompileOptions compile_options(const ServeOptions& options, Served& served, const InferenceRanks* ranks,
                               DefaultBounds& bounds) {
  const Model& model = served.model;
  CompileOptions result = options.flags.options();
  if (ranks) ranks->add_to(result);
  result.mode = Mode::infer;
  bounds.add(result.build.bounds, "B", options.slots > 0 ? options.slots : kDefaultSlots, "--slots");
  options.caches.apply(model, result, served.draft ? &served.draft->model() : nullptr);
  plan_drafts(options, served, result);
  result.entries = generation_entries(model, result);
  if (result.build.cache_pages == 0) leave_sampling_to_host(result.entries);
  return result;
}

std::string name_of(const ServeOptions& options) {
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
void announce_url(const ServeOptions& options, int port) {
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  fmt::print("listening on http://{}:{}\n", is_ipv6 ? "[" + options.host + "]" : options.host, port);
  std::fflush(stdout);
}

void announce(const ServeOptions& options, int port, const ContinuousBatchCounts& counts) {
  fmt::print(stderr, "model '{}', {}{} slots, {}, {} requests may wait; Ctrl-C ends\n", name_of(options),
             options.replicas > 1 ? fmt::format("{} replicas, ", options.replicas) : "", counts.slots,
             caches_text(counts), options.replicas * options.most_waiting());
  announce_url(options, port);
}

void announce_texts(const ServeOptions& options, int port, const TextBatch& batch) {
  fmt::print(stderr, "model '{}', {} of {} {}, texts of up to {} tokens, {} texts may wait; Ctrl-C ends\n",
             name_of(options), batch.classifies() ? "scores" : "embeddings", batch.width(),
             batch.classifies() ? "classes" : "numbers", batch.capacity(), batch.most_requests());
  announce_url(options, port);
}

/// Waits for a signal, for the end of the listening, or, where there are other ranks, for a fault.
void wait_for_end(server::ListeningThread& listening, server::BatchService& batch,
                  const server::EndSignal& signal, bool has_ranks) {
  struct NoWake {  // before the signal is gone
    server::ListeningThread& listening;
    server::BatchService& batch;
    ~NoWake() { listening.on_fault({}), batch.on_fault({}); }
  } const no_wake{listening, batch};
  listening.on_fault([&] { signal.wake(); });
  if (has_ranks) batch.on_fault([&] { signal.wake(); });
  signal.wait();
}

/// Lets requests end that run or wait, for --drain-seconds.
void drain(const ServeOptions& options, server::HttpServer& http, server::BatchService& batch) {
  if (options.drain_seconds == 0) return;
  fmt::print(stderr, "draining: open requests have {} s to end; a second signal ends the server at once\n",
             options.drain_seconds);
  http.drain();
  if (!batch.wait_idle(std::chrono::seconds(options.drain_seconds)))
    fmt::print(stderr, "note: requests that did not end in {} s are cut off\n", options.drain_seconds);
}

void refuse_given(const std::vector<std::string>& given, const char* tasks) {
  if (!given.empty()) fail("{}: this option is for models that {}", given[0], tasks);
}

/// Determines the task, and the options of compilation for it.
CompileOptions options_for_task(const ServeOptions& options, Served& served, const InferenceRanks* ranks,
                                DefaultBounds& bounds) {
  const ServedTask task = served_task(served.model, options.task);
  if (options.replicas > 1 && served.draft)
    fail("--draft {}: it makes drafts for one replica; expected no --replicas", options.draft.source);
  if (task == ServedTask::generate) {
    refuse_given(options.for_texts, "embed or classify texts");
    if (ranks && served.draft)
      fail("--draft {}: one rank serves with a draft model; expected no launch", options.draft.source);
    return compile_options(options, served, ranks, bounds);
  }
  refuse_given(options.for_generation, "generate text");
  if (ranks) fail("--task {}: texts are served by one rank; expected no launch", options.task);
  served.texts = read_text_serving(served.model, task, options.text_flags());
  CompileFlags flags = options.flags;
  flags.values.build.step_tokens = 0;
  CompileOptions result = flags.options();
  result.mode = Mode::infer;
  compile_for_texts(served.model, *served.texts, options.text_flags(), result, bounds);
  return result;
}

/// `planned_slots`: the number of requests that the plan was compiled for; 0: as many as it has rows.
ContinuousBatchOptions served_batch_options(const ServeOptions& options, size_t planned_slots) {
  return {.slots = options.slots > 0 ? static_cast<size_t>(options.slots) : planned_slots,
          .most_waiting = options.most_waiting(),
          .chunk = options.chunk,
          .shares_prefixes = !options.no_shared_prefixes,
          .prepares = !options.lazy,
          .draft = options.draft.most_tokens(),
          .most_drafted = options.draft_users};
}

/// Opens the model that makes drafts.
void add_draft_model(Served& served, const CompileOptions& compile, const CompileFlags& flags) {
  ContinuousBatchOptions& batch = served.batch;
  batch.draft_model = &served.draft->open(served.model, compile, flags);
  if (batch.most_drafted == 0 && device_kind(served.model.plan->target).most_exact_rows > 0)
    batch.most_drafted = kDraftUsersOnCpu;
}

Served open_served(const ServeOptions& options, const Json& all, InferenceRanks* ranks) {
  Served served;
  DefaultBounds bounds;
  served.model = open_model(options.model, options.weights);
  if (options.draft.by_model()) served.draft.emplace(options.draft, options.weights);
  const bool is_first = !ranks || ranks->is_first();
  if (served.model.weights && !is_first) served.model.weights->note.clear();
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first, flags.says_memory &= is_first;
  const CompileOptions compile = options_for_task(options, served, ranks, bounds);
  if (served.texts) flags.values.build.step_tokens.reset();  // a plan has no such option then
  compile_model(served.model, compile, flags);
  served.model.bounds = bounds;
  if (!served.texts) require_text_writer(served.model.plan->model);
  if (is_first && !served.texts) tell_unknown_fields(served.model);
  SessionOptions session = options.weights.session_options();
  if (ranks)
    ranks->add_to(session, *served.model.plan), ranks->agree("the server", served.model, all);
  else
    require_mesh(*served.model.plan, nullptr);
  served.session = open_session(served.model, options.weights, session);
  served.batch = served_batch_options(options, served.batch.slots);
  if (served.draft) add_draft_model(served, compile, flags);
  return served;
}

server::HttpOptions http_options(const ServeOptions& options) {
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
  explicit OpenPort(const ServeOptions& options)
      : http(http_options(options)), number(http.bind(options.host, options.port)), listening(http) {}
  server::HttpServer http;
  int number;
  server::ListeningThread listening;
};

bool reads_source(const Served& served) { return served.session->has_entry(entry::encode); }

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
server::ChatSource chats_of(const ServeOptions& options, const Model& model, const PromptText& texts) {
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
void answer_clients(const ServeOptions& options, const Served& served, OpenPort& port, bool has_ranks) {
  ServedBatches batches(
      served.model, options.weights, *served.session, options.replicas,
      [&](Session& session) { return std::make_unique<ContinuousBatch>(session, served.batch); });
  server::BatchService& batch = batches.service();
  const PromptText texts(served.model, batch.vocabulary(), !options.no_special_tokens);
  const server::RequestMaker maker(texts, description_of(served.model), reads_source(served),
                                   batch.capacity());
  server::CompletionService completions(batch, texts, maker, name_of(options),
                                        chats_of(options, served.model, texts));
  if (options.priorities) completions.take_priorities();
  std::optional<server::WeightUpdates> updates;
  if (!options.weights_from.empty())
    completions.take_weights(updates.emplace(batch, std::filesystem::path(options.weights_from)));
  const server::AdapterLoader loader{batch, completions.name(), read_adapter_files};
  for (const auto& [name, directory] : options.weights.adapter.named) loader.load(name, directory);
  std::optional<server::AdapterUpdates> adapters;
  if (!options.adapters_from.empty())
    completions.take_adapters(adapters.emplace(loader, std::filesystem::path(options.adapters_from)));
  const server::EndSignal signal;  // before anyone knows that there is a server to be ended
  port.http.serve(batch, completions, options.replicas * batch.most_requests());
  announce(options, port.number, batch.counts());
  wait_for_end(port.listening, batch, signal, has_ranks);
  drain(options, port.http, batch);
  batch.close();
  port.listening.finish();
  if (has_ranks && !batch.fault().empty()) fail("{}", batch.fault());
}

/// Does the same for a model that reads whole texts.
void answer_texts(const ServeOptions& options, const Served& served, OpenPort& port) {
  const TextServing& texts = *served.texts;
  std::atomic<const TextBatch*> any = nullptr;
  ServedBatches batches(served.model, options.weights, *served.session, options.replicas,
                        [&](Session& session) {
                          auto own = text_batch(served.model, session, texts,
                                                options.queue.value_or(kDefaultTextQueue), !options.lazy);
                          any = own.get();
                          return own;
                        });
  const TextBatch& facts = *any;
  server::BatchService& batch = batches.service();
  const server::TextMaker maker(served.model, texts.modules,
                                {.vocabulary = facts.vocabulary(),
                                 .capacity = facts.capacity(),
                                 .adds_special_tokens = !options.no_special_tokens});
  const PromptText prompts(served.model, facts.vocabulary(), !options.no_special_tokens);
  server::TextService service(batch, prompts, maker, text_model(served.model, facts, texts),
                              name_of(options));
  const server::EndSignal signal;  // before anyone knows that there is a server to be ended
  port.http.serve(batch, service, std::min(batch.most_requests(), kMostTextConnections));
  announce_texts(options, port.number, facts);
  wait_for_end(port.listening, batch, signal, false);
  drain(options, port.http, batch);
  batch.close();
  port.listening.finish();
}

/// Ignores a signal that comes to all ranks. The first rank handles it and ends the others. The signal may
/// come here even later, while the process exits; so the object is never destroyed.
void leave_signals_to_first() {
  alignas(server::EndSignal) static std::byte place[sizeof(server::EndSignal)];
  new (place) server::EndSignal;
}

void follow_first(const ServeOptions& options, const Served& served) {
  server::BatchFollower batch(*served.session, served.batch);
  const PromptText texts(served.model, batch.vocabulary(), !options.no_special_tokens);
  const server::RequestMaker maker(texts, description_of(served.model), reads_source(served),
                                   batch.capacity());
  batch.run([&](const server::AskedCompletion& asked) { return maker.again(asked); });
}

void run_serve(const ServeOptions& options, const Json& all, InferenceRanks* ranks) {
  const bool is_first = !ranks || ranks->is_first();
  if (ranks && options.replicas > 1)
    fail("--replicas {}: ranks hold one copy of the model together; expected no launch", options.replicas);
  save_addresses();
  if (!is_first) leave_signals_to_first();  // before the first one is told that all are there
  std::optional<OpenPort> port;
  if (is_first) port.emplace(options);
  const Served served = open_served(options, all, ranks);
  if (served.texts)
    answer_texts(options, served, *port);
  else if (is_first)
    answer_clients(options, served, *port, ranks != nullptr);
  else
    follow_first(options, served);
}

}  // namespace

void add_serve(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Answer OpenAI's clients over HTTP: text, embeddings, classes or scores");
  command->add_option("model", options->model, "model directory, GGUF file, run directory, spec or plan")
      ->required();
  options->add_to(*command);
  options->flags.add_to(*command, {OptionGroup::cache_storage, OptionGroup::sampling, OptionGroup::serving,
                                   OptionGroup::ranks});
  options->weights.add_weights_to(*command);
  options->weights.adapter.add_several_to(*command);
  command->callback([options, command] {
    options->note_given(*command);
    options->draft.check();
    options->weights.adapter.sort_out();
    infer_over_ranks(options->flags.values.mesh, "serve",
                     [&](InferenceRanks* ranks) { run_serve(*options, resolved_config(*command), ranks); });
  });
}

}  // namespace smelt::cli
