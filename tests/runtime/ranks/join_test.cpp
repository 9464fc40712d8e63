// How ranks find each other, and who is kept out.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "runtime/ranks/join_hub.h"
#include "runtime/ranks/rank_link.h"
#include "tests/runtime/ranks/run_ranks.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::string join_fault(const Launch& launch) {
  return message_of([&] { RankLink link(launch); });
}

/// Everything that was sent to the port before it ended.
void say(int port, const std::string& bytes, bool keep_open = false) {
  static std::vector<Socket> kept;
  ConnectResult result = connect_to("127.0.0.1", port, Clock::now() + seconds(5));
  ASSERT_TRUE(result.socket.is_open()) << result.fault;
  ::send(result.socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (keep_open) kept.push_back(std::move(result.socket));
}

TEST(Join, NobodyAnswers) {
  int port = 0;
  {
    const Socket free = listen_at("127.0.0.1", 0);
    port = port_of(free);
  }
  Launch launch = launch_of_rank(3, 4, port);
  launch.join_timeout = 0.2;
  const std::string fault = join_fault(launch);
  for (const char* part : {"rank 3: ", "127.0.0.1:", "within 0.2 s", "refused", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_HAS(fault, part);
  launch.master_address = "no-such-host.invalid";
  EXPECT_HAS(join_fault(launch), "the name is not known");
}

TEST(Join, ThePortIsTaken) {
  const Socket other = listen_at("127.0.0.1", 0);
  Launch launch = launch_of_rank(0, 2, port_of(other));
  const std::string fault = join_fault(launch);
  EXPECT_HAS(fault, fmt::format("127.0.0.1:{}", port_of(other)));
  EXPECT_HAS(fault, "set MASTER_PORT to another number");
  launch.master_address = "192.0.2.1";  // of no host
  EXPECT_HAS(join_fault(launch), "SMELT_BIND_ADDRESS");
}

TEST(Join, SomethingElseListens) {
  const Socket listener = listen_at("127.0.0.1", 0);
  std::jthread server([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      if (const auto socket = accept_from(listener)) {
        const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
        ::send(socket->descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } else {
        std::this_thread::yield();
      }
  });
  EXPECT_HAS(join_fault(launch_of_rank(1, 2, port_of(listener))), "is not this run's hub");
}

TEST(Join, ARankThatDoesNotCome) {
  const auto ends = run_rank_threads(4, [](Launch launch, Socket listener) {
    launch.join_timeout = 2;
    if (launch.rank == 1 || launch.rank == 3) return;
    RankLink link(launch, std::move(listener));
  });
  EXPECT_HAS(ends[0].text, "of 4 ranks, these have not joined within 2 s: 1, 3");
  EXPECT_EQ(ends[2].text, ends[0].text);
}

/// Ranks 0 and 1 of a run, and another that wants to join with them.
std::string intrude(const std::function<void(Launch&)>& change) {
  std::string fault;
  expect_all_good(run_rank_threads(2, [&](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    link.barrier("all are here");
    if (launch.rank == 1) {
      Launch other = launch;
      change(other);
      fault = join_fault(other);
    }
    link.barrier("nothing happened to the run");
    link.leave();
  }));
  return fault;
}

TEST(Join, AnotherSecretIsRefused) {
  EXPECT_HAS(intrude([](Launch& launch) { launch.secret = "a guess"; }), "it knows another secret");
}

TEST(Join, TwoOfOneNumberAreRefused) {
  const std::string fault = intrude([](Launch&) {});
  EXPECT_HAS(fault, "the one that joined before, rank 1 (host ");
  EXPECT_HAS(fault, "refuses it: rank 1 (host ");
}

TEST(Join, AnotherNumberOfRanksIsRefused) {
  const std::string fault = intrude([](Launch& launch) { launch.size = 3, launch.rank = 2; });
  EXPECT_HAS(fault, "rank 2 (host ");
  EXPECT_HAS(fault, "was told of 3 ranks, and the hub of rank 0 of 2");
}

TEST(Join, TheRunThatLacksARankSaysWhoWasRefused) {
  const auto ends = run_rank_threads(2, [](Launch launch, Socket listener) {
    launch.join_timeout = 2;
    if (launch.rank == 1) launch.size = 3;
    RankLink link(launch, std::move(listener));
  });
  EXPECT_HAS(ends[0].text, "these have not joined within 2 s: 1; one was refused: rank 1");
}

TEST(Join, GarbageIsDropped) {
  std::mt19937 random(5);
  expect_all_good(run_rank_threads(3, [&](const Launch& launch, Socket listener) {
    if (launch.rank == 1)  // before the run has begun
      for (int i = 0; i < 40; ++i) {
        std::string bytes(random() % 3000, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        say(launch.master_port, bytes);
      }
    RankLink link(launch, std::move(listener));
    link.barrier("all are here");
    if (launch.rank == 1) {
      say(launch.master_port, std::string("\xff\xff\xff\xff\x01", 5));               // of 4 GiB
      say(launch.master_port, encode(FrameKind::hello, "short"));                    // ends early
      say(launch.master_port, encode(FrameKind::hello, std::string(1024, '\xff')));  // a text of 2^64 bytes
      say(launch.master_port, encode(FrameKind::failed, "the end is near"));
      say(launch.master_port, encode(FrameKind::leave, ""));
      for (int i = 0; i < 200; ++i) say(launch.master_port, "", true);  // say nothing and stay
    }
    link.barrier("nothing happened to the run");
    link.leave();
  }));
}

TEST(Join, ARankFindsRoomAmongThoseWhoSayNothing) {
  expect_all_good(run_rank_threads(2, [&](const Launch& launch, Socket listener) {
    if (launch.rank == 1)
      for (int i = 0; i < 150; ++i) say(launch.master_port, "", true);
    RankLink link(launch, std::move(listener));
    link.leave();
  }));
}

}  // namespace
}  // namespace smelt
