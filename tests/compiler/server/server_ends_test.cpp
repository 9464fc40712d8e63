// How answers, the listening and the process end.
#ifdef SMELT_SERVER
#include <gtest/gtest.h>

#include <csignal>
#include <stdexcept>

#include "compiler/server/completion_service.h"
#include "compiler/server/end_signal.h"
#include "compiler/server/http_server.h"
#include "tests/runtime/engine/serving/remembering_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::server {
namespace {

TEST(CompletionAnswerOfServer, AnyFaultIsTheLastEvent) {
  CompletionRequest request;
  request.stream = true, request.log_probabilities = 0;
  CompletionHead head{.id = "a", .model = "m", .text_of_token = [](int32_t) -> std::string {
                        throw std::runtime_error("no text");
                      }};
  const auto mailbox = std::make_shared<Mailbox>(1);
  CompletionAnswer answer(std::move(head), request, 1, {""}, mailbox);
  Progress progress;
  progress.tokens.push_back({.id = 3});
  mailbox->deliver(0, progress);
  const std::string events = answer.events(std::chrono::milliseconds(1000));
  EXPECT_HAS(events, "no text");
  EXPECT_TRUE(events.ends_with("data: [DONE]\n\n")) << events;
  EXPECT_TRUE(answer.done());
}

TEST(HttpServerOfServer, ThatNoLongerListensIsAnErrorAndCanBeStopped) {
  HttpServer http({.connections = 1});
  EXPECT_HAS(message_of([&] { http.listen(); }), "no longer listens");  // it was never bound
  http.stop();
}

TEST(EndSignalOfServer, TheSecondEndsTheProcessWhicheverItIs) {
  EXPECT_EXIT(
      {
        const EndSignal signal;
        std::raise(SIGINT);
        signal.wait();
        std::raise(SIGTERM);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace smelt::server
#endif
