// ThreadRanks: the ranks of a mesh as threads of one process, which all run the same function.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/ranks/rank_groups.h"
#include "runtime/ranks/rank_sums.h"

namespace smelt::test {

/// The first failure of any rank, which ends all ranks. `mutex` also guards every ThreadExchange.
struct ThreadFailure {
  static constexpr const char* kOfAnother = "another rank failed: ";
  std::mutex mutex;
  std::condition_variable changed;
  std::string text;
  bool failed = false;

  std::map<int64_t, std::function<void(const std::string&)>> listeners;  // by rank

  /// Records the failure if it is the first one, wakes all waiting ranks, and calls the listeners.
  void report(std::string_view why) {
    std::map<int64_t, std::function<void(const std::string&)>> told;
    {
      const std::lock_guard lock(mutex);
      if (!failed) text = why, failed = true, told = listeners;
      changed.notify_all();
    }
    for (const auto& [rank, listener] : told)
      if (listener) listener(kOfAnother + text);
  }
  /// Throws Error if a rank has failed. Requires: `mutex` is locked.
  void check() const {
    if (failed) throw Error(kOfAnother + text);
  }
};

/// Exchange of data between the members of a group of ranks. A collective has three phases: all members give
/// their data, all read, and all leave.
class ThreadExchange {
 public:
  ThreadExchange(ThreadFailure& failure, int64_t size)
      : failure_(failure), given_(static_cast<size_t>(size)) {}

  /// Runs a collective: calls `read` with the data of all members. `call` describes the kind and the size of
  /// the collective; if the members pass different texts, all of them throw Error.
  void run(int64_t rank, const std::string& call, std::span<const std::byte> data,
           const std::function<void(const std::vector<std::vector<std::byte>>&)>& read) {
    std::unique_lock lock(failure_.mutex);
    given_[static_cast<size_t>(rank)].assign(data.begin(), data.end());
    if (arrived_ == 0) call_ = call;
    if (call != call_ && !failure_.failed) {
      failure_.text = "'" + call + "' stands against '" + call_ + "'", failure_.failed = true;
      failure_.changed.notify_all();
    }
    wait_for_all(lock, arrived_);
    read(given_);
    wait_for_all(lock, left_);
  }

  /// Sends a message without waiting for the receiver.
  void send(int64_t from, int64_t to, std::span<const std::byte> data) {
    const std::lock_guard lock(failure_.mutex);
    failure_.check();
    mail_[{from, to}].emplace_back(data.begin(), data.end());
    failure_.changed.notify_all();
  }

  void receive(int64_t from, int64_t to, std::span<std::byte> data) {
    std::unique_lock lock(failure_.mutex);
    auto& mail = mail_[{from, to}];
    failure_.changed.wait(lock, [&] { return failure_.failed || !mail.empty(); });
    failure_.check();
    if (mail.front().size() != data.size())
      fail("a message of {} bytes comes, expected {}", mail.front().size(), data.size());
    std::copy(mail.front().begin(), mail.front().end(), data.begin());
    mail.pop_front();
  }

 private:
  void wait_for_all(std::unique_lock<std::mutex>& lock, int64_t& count) {
    failure_.check();
    const int64_t round = round_;
    if (++count == static_cast<int64_t>(given_.size())) {
      count = 0, ++round_;
      failure_.changed.notify_all();
      return;
    }
    failure_.changed.wait(lock, [&] { return failure_.failed || round_ != round; });
    failure_.check();
  }

  ThreadFailure& failure_;
  std::vector<std::vector<std::byte>> given_;
  std::map<std::pair<int64_t, int64_t>, std::deque<std::vector<std::byte>>> mail_;  // by sender and receiver
  std::string call_;
  int64_t arrived_ = 0, left_ = 0, round_ = 0;
};

/// The collectives of one rank within a group of ranks.
class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(ThreadExchange& exchange, int64_t rank, int64_t size)
      : exchange_(exchange), rank_(rank), size_(size) {}

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }

  void all_reduce(std::span<std::byte> data, DType dtype, CollectiveSum sum) override {
    run("all_reduce", data, [&](const auto& given) { add(given, 0, data, dtype, sum); });
  }
  void reduce_scatter(std::span<const std::byte> from, std::span<std::byte> to, DType dtype,
                      CollectiveSum sum) override {
    run("reduce_scatter", from,
        [&](const auto& given) { add(given, to.size() * static_cast<size_t>(rank_), to, dtype, sum); });
  }
  void all_gather(std::span<const std::byte> from, std::span<std::byte> to) override {
    run("all_gather", from, [&](const auto& given) {
      for (size_t i = 0; i < given.size(); ++i) copy(given[i], 0, to.subspan(i * from.size(), from.size()));
    });
  }
  void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) override {
    const size_t part = from.size() / static_cast<size_t>(size_);
    run("all_to_all", from, [&](const auto& given) {
      for (size_t i = 0; i < given.size(); ++i)
        copy(given[i], part * static_cast<size_t>(rank_), to.subspan(i * part, part));
    });
  }
  void send(std::span<const std::byte> data, int64_t to) override { exchange_.send(rank_, to, data); }
  void receive(std::span<std::byte> data, int64_t from) override { exchange_.receive(from, rank_, data); }

 private:
  using Given = std::vector<std::vector<std::byte>>;

  void run(const char* call, std::span<const std::byte> data, const std::function<void(const Given&)>& read) {
    exchange_.run(rank_, fmt::format("{} of {} bytes", call, data.size()), data, read);
  }

  static void copy(const std::vector<std::byte>& from, size_t begin, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), from.data() + begin, to.size());
  }

  static void add(const Given& given, size_t begin, std::span<std::byte> to, DType dtype, CollectiveSum sum) {
    std::vector<const std::byte*> from;
    for (const std::vector<std::byte>& data : given) from.push_back(data.data() + begin);
    sum_of_ranks(from, to.data(), static_cast<int64_t>(to.size()) / size_of(dtype), dtype, sum);
  }

  ThreadExchange& exchange_;
  int64_t rank_, size_;
};

/// The groups of one rank: along each axis of the mesh, and all ranks.
class ThreadRank : public RankGroups {
 public:
  ThreadRank(const Mesh& mesh, int64_t rank, ThreadFailure& failure, std::vector<ThreadCommunicator> along,
             ThreadCommunicator everyone)
      : mesh_(mesh), rank_(rank), failure_(failure), along_(std::move(along)), everyone_(everyone) {}

  const Mesh& mesh() const override { return mesh_; }
  int64_t rank() const override { return rank_; }
  Communicator& along(size_t axis) override { return along_.at(axis); }
  Communicator& everyone() override { return everyone_; }
  void progress(std::string_view what, int64_t) override { reported.emplace_back(what); }
  void report_failure(std::string_view text) override { failure_.report(text); }
  void on_failure(std::function<void(const std::string&)> listener) override {
    const std::lock_guard lock(failure_.mutex);
    failure_.listeners[rank_] = std::move(listener);
  }

  std::vector<std::string> reported;  // the texts that progress() got

 private:
  const Mesh& mesh_;
  int64_t rank_;
  ThreadFailure& failure_;
  std::vector<ThreadCommunicator> along_;
  ThreadCommunicator everyone_;
};

/// All ranks of a mesh, as threads.
class ThreadRanks {
 public:
  explicit ThreadRanks(Mesh mesh) : mesh_(std::move(mesh)) {
    const int64_t ranks = mesh_.ranks();
    ThreadExchange& all = exchange(ranks);
    std::map<std::pair<size_t, int64_t>, ThreadExchange*> groups;  // by axis and first member
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<ThreadCommunicator> along;
      for (size_t axis = 0; axis < mesh_.axes.size(); ++axis) {
        const std::vector<int64_t> members = mesh_.group(rank, axis);
        ThreadExchange*& group = groups[{axis, members.front()}];
        if (!group) group = &exchange(mesh_.axes[axis].size);
        along.emplace_back(*group, mesh_.coordinates(rank)[axis], mesh_.axes[axis].size);
      }
      ranks_.push_back(std::make_unique<ThreadRank>(mesh_, rank, failure_, std::move(along),
                                                    ThreadCommunicator(all, rank, ranks)));
    }
  }

  /// Runs `work` at all ranks. If `work` throws at a rank, the other ranks end as well, and the first
  /// exception is thrown again.
  void run(const std::function<void(RankGroups&)>& work) {
    std::vector<std::thread> threads;
    for (const auto& rank : ranks_) threads.emplace_back([&, r = rank.get()] { run(*r, work); });
    for (std::thread& thread : threads) thread.join();
    if (first_) std::rethrow_exception(first_);
  }

 private:
  ThreadExchange& exchange(int64_t size) {
    return *exchanges_.emplace_back(std::make_unique<ThreadExchange>(failure_, size));
  }

  void run(RankGroups& rank, const std::function<void(RankGroups&)>& work) {
    try {
      work(rank);
    } catch (const std::exception& error) {
      note(error);
      failure_.report(error.what());
    }
  }

  void note(const std::exception& error) {
    const std::lock_guard lock(failure_.mutex);
    const bool follows = std::string_view(error.what()).starts_with(ThreadFailure::kOfAnother);
    if (!first_ || (first_follows_ && !follows)) first_ = std::current_exception(), first_follows_ = follows;
  }

  Mesh mesh_;
  ThreadFailure failure_;
  std::vector<std::unique_ptr<ThreadExchange>> exchanges_;
  std::vector<std::unique_ptr<ThreadRank>> ranks_;
  std::exception_ptr first_;
  bool first_follows_ = false;  // first_ only reports the failure of another rank
};

/// Runs `work` at three ranks. Rank 1 throws Error when it calls `may_fail`. Expects that the other ranks end
/// with an Error whose text contains that of rank 1.
inline void expect_end_with_failing_rank(
    const std::function<void(RankGroups&, const std::function<void()>& may_fail)>& work) {
  std::vector<std::string> said(3);
  const auto noted = [&](RankGroups& ranks) {
    try {
      work(ranks, [&] {
        if (ranks.rank() == 1) throw Error("the disk is full");
      });
    } catch (const Error& error) {
      said[static_cast<size_t>(ranks.rank())] = error.what();
      throw;
    }
  };
  EXPECT_THROW(ThreadRanks(parse_mesh("data=3")).run(noted), Error);
  EXPECT_EQ(said[1], "the disk is full");
  for (const size_t rank : {0, 2})
    EXPECT_NE(said[rank].find("the disk is full"), std::string::npos) << said[rank];
}

}  // namespace smelt::test
