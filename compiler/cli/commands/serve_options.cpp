#include "compiler/cli/commands/serve_options.h"

#include <initializer_list>

#include "runtime/tools/tool_format.h"

namespace smelt::cli {
namespace {

void add_network(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--host", options.host, "address to listen at; others than this machine's are open to all")
      ->capture_default_str();
  command.add_option("--port", options.port, "port; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      .add_option(
          "--allow-host", options.allowed_hosts,
          "host that clients and pages may reach the server by, HOST or HOST:PORT, beside localhost or "
          "the address; may be given several times")
      ->allow_extra_args(false)
      ->type_name("HOST");
  command
      .add_option(
          "--allow-origin", options.allowed_origins,
          "web pages of other hosts that may use the server (CORS), SCHEME://HOST, SCHEME://HOST:PORT, or * "
          "for all; default: none; may be given several times")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
  command.add_option("--name", options.name,
                     "what clients know the model by (default: the name of its file)");
}

void add_limits(CLI::App& command, ServeOptions& options) {
  command
      .add_option(
          "--slots", options.slots,
          "requests that run together (default: 8, or those of the plan); of whole texts: most of a run "
          "(default: one per 16 of --step-tokens)")
      ->check(CLI::PositiveNumber);
  command
      .add_option(
          "--replicas", options.replicas,
          "copies of the model, each with slots and a queue of its own; replica i is on GPU i, counted "
          "from SMELT_DEVICE")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      .add_option(
          "--queue", options.queue,
          "requests that may wait for a slot; others are refused (default: 64); of whole texts: texts that "
          "wait or run (default: 4096)")
      ->check(CLI::Range(0, 65536));
  command
      .add_option("--chunk", options.chunk,
                  "tokens of prompts that are read between two of the others' tokens (default: 64; with "
                  "--step-tokens as many as a run may have; of an encoder-decoder: 512 of sources)")
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
  options.draft.add_to(command);
  command
      .add_option("--draft-users", options.draft_users,
                  "no text gets drafts while more than this many requests run; default: 4 with a draft model "
                  "on a CPU, else any number")
      ->check(CLI::PositiveNumber);
  command.add_flag("--no-shared-prefixes", options.no_shared_prefixes,
                   "of caches in pages: read every prompt from its beginning");
}

void add_task(CLI::App& command, ServeOptions& options) {
  command
      .add_option(
          "--task", options.task,
          "what the model is for: generate text, embed (vectors of texts), classify texts, or auto: by its "
          "head, and embed if modules.json is in its directory")
      ->check(CLI::IsMember(kTaskNames))
      ->capture_default_str();
  command
      .add_option(
          "--pooling", options.pooling,
          "of a model that embeds and has no modules.json: how the states of tokens become one vector: " +
              pooling_names() + " (default: mean)")
      ->check([](const std::string& name) {
        return find_pooling(name) ? "" : name + " is not one of " + pooling_names();
      });
}

void add_texts(CLI::App& command, ServeOptions& options) {
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

void add_access(CLI::App& command, ServeOptions& options) {
  CLI::Option* keys = command
                          .add_option("--api-keys", options.api_keys,
                                      "file of keys, one per line, KEY or NAME KEY: clients must send one "
                                      "for the paths below /v1 and with every POST")
                          ->check(CLI::ExistingFile);
  command
      .add_option("--most-per-key", options.most_per_key,
                  "completions that a key may have at a time; others are refused (default: any number)")
      ->check(CLI::PositiveNumber)
      ->needs(keys);
  command
      .add_option(
          "--weights-from", options.weights_from,
          "directory of weights that POST /update_weights may load while the server runs; default: none")
      ->check(CLI::ExistingDirectory);
  command
      .add_option("--adapters-from", options.adapters_from,
                  "directory of adapters that POST /v1/load_lora_adapter may load while the server runs; "
                  "default: none")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--priorities", options.priorities,
                   "let clients choose which requests begin first, by the field priority");
  command.add_flag("--log-requests", options.log_requests,
                   "write a line of JSON per request to standard error");
}

}  // namespace

void ServeOptions::add_to(CLI::App& command) {
  add_network(command, *this);
  add_task(command, *this);
  add_texts(command, *this);
  add_limits(command, *this);
  add_access(command, *this);
}

void ServeOptions::note_given(const CLI::App& command) {
  const auto note = [&](std::initializer_list<const char*> names, std::vector<std::string>& given) {
    for (const char* name : names)
      if (command.get_option(name)->count() > 0) given.emplace_back(name);
  };
  note({"--chunk", "--draft", "--draft-weights", "--draft-tokens", "--draft-users", "--no-shared-prefixes",
        "--cache-memory", "--cache-pages", "--tool-parser", "--sampler", "--weights-from", "--adapters",
        "--adapter-rank", "--adapter-targets", "--adapters-from", "--priorities"},
       for_generation);
  note({"--pooling"}, for_texts);
}

}  // namespace smelt::cli
