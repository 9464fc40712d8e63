// smelt watch: the page of a run, live in a browser (docs/guides/training.md).
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <mutex>

#include "compiler/cli/command.h"
#include "compiler/report/report_page.h"
#include "compiler/report/run_data.h"
#include "compiler/server/end_signal.h"
#include "compiler/server/http_server.h"
#include "compiler/server/listening_thread.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

struct WatchCommand {
  std::string run, host = "127.0.0.1";
  int port = 8008;
};

/// The pages of a run. Several browsers may ask at a time.
class RunPages {
 public:
  explicit RunPages(std::string run) : run_(std::move(run)), events_(run_) {}

  std::optional<server::HttpReply> page(const std::string& path) {
    if (path == "/")
      return server::HttpReply{.type = "text/html; charset=utf-8",
                               .body = live_run_page(fmt::format("Training run {}", run_))};
    if (path != "/run.json") return std::nullopt;
    if (!is_run_directory(run_)) fail("'{}' has no metrics.jsonl yet: the page waits for the run", run_);
    const std::lock_guard lock(mutex_);
    return server::HttpReply{
        .body = live_run_text(run_data(events_, run_, fmt::format("smelt watch {}", run_))),
        .fields = {{"Cache-Control", "no-store"}}};
  }

 private:
  std::string run_;
  std::mutex mutex_;
  RunEvents events_;
};

void watch(const WatchCommand& options) {
  if (!std::filesystem::is_directory(options.run))
    fail("'{}' is no directory: expected the --run-dir of a run", options.run);
  server::HttpOptions http_options;
  RunPages pages(options.run);
  http_options.pages = [&](const std::string& path) { return pages.page(path); };
  server::HttpServer http(http_options);
  const int port = http.bind(options.host, options.port);
  const server::EndSignal signal;
  server::ListeningThread listening(http);
  listening.on_fault([&] { signal.wake(); });
  fmt::print("http://{}:{}/ shows {}; Ctrl-C ends it\n", options.host, port, options.run);
  std::fflush(stdout);
  signal.wait();
  listening.finish();
}

}  // namespace

void add_watch(CLI::App& app) {
  auto options = std::make_shared<WatchCommand>();
  CLI::App* command =
      app.add_subcommand("watch", "Show a training run in a browser: losses, rates, memory, samples");
  command->add_option("run", options->run, "the --run-dir of a run, also of one that has not begun")
      ->required();
  command
      ->add_option("--host", options->host,
                   "address to listen at; others than this machine's are open to all")
      ->capture_default_str();
  command->add_option("--port", options->port, "port; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->callback([options] { watch(*options); });
}

}  // namespace smelt::cli
