// Collectives between processes of one host, against plain loops over what every rank has.
#include "runtime/ranks/shared_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/base/half.h"
#include "runtime/ranks/rank_sums.h"
#include "tests/runtime/ranks/run_ranks.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Bytes = std::vector<std::byte>;
constexpr DType kSummed[] = {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32, DType::i64};

std::vector<int64_t> all_ranks(int size) {
  std::vector<int64_t> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// An element as double, and its rounding.
double element(const Bytes& data, size_t i, DType dtype) {
  const std::byte* at = data.data() + i * static_cast<size_t>(size_of(dtype));
  const auto load = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(load(float{}));
    case DType::bf16:
      return static_cast<double>(from_bf16(load(uint16_t{})));
    case DType::f16:
      return static_cast<double>(from_f16(load(uint16_t{})));
    case DType::f64:
      return load(double{});
    case DType::i32:
      return load(int32_t{});
    default:
      return static_cast<double>(load(int64_t{}));
  }
}

/// Values that every type holds exactly, and whose sums over eight ranks are exact in all of them.
Bytes random_elements(std::mt19937& random, size_t count, DType dtype) {
  Bytes bytes(count * static_cast<size_t>(size_of(dtype)));
  for (size_t i = 0; i < count; ++i) {
    std::byte* at = bytes.data() + i * static_cast<size_t>(size_of(dtype));
    const int value = static_cast<int>(random() % 31) - 15;
    const auto store = [at](auto stored) { std::memcpy(at, &stored, sizeof stored); };
    switch (dtype) {
      case DType::f32:
        store(static_cast<float>(value));
        break;
      case DType::bf16:
        store(to_bf16(static_cast<float>(value)));
        break;
      case DType::f16:
        store(to_f16(static_cast<float>(value)));
        break;
      case DType::f64:
        store(static_cast<double>(value));
        break;
      case DType::i32:
        store(int32_t{value});
        break;
      default:
        store(int64_t{value});
    }
  }
  return bytes;
}

void expect(bool good, const std::string& what) {
  if (!good) fail("wrong: {}", what);
}

/// What the ranks of a group do with random data of one size: all of it is known to each.
class Case {
 public:
  Case(Communicator& group, uint32_t seed, size_t count, DType dtype)
      : group_(group), size_(static_cast<size_t>(group.size())), count_(count), dtype_(dtype) {
    std::mt19937 random(seed);
    for (size_t rank = 0; rank < size_; ++rank)
      data_.push_back(random_elements(random, count * size_, dtype));
  }

  void run() {
    for (const CollectiveSum sum : {CollectiveSum::add, CollectiveSum::max})
      all_reduce(sum), reduce_scatter(sum);
    all_gather();
    all_to_all();
  }

 private:
  const Bytes& own() const { return data_[static_cast<size_t>(group_.rank())]; }
  size_t bytes() const { return count_ * static_cast<size_t>(size_of(dtype_)); }

  double expected(size_t i, CollectiveSum sum) const {
    double result = element(data_[0], i, dtype_);
    for (size_t rank = 1; rank < size_; ++rank) {
      const double other = element(data_[rank], i, dtype_);
      result = sum == CollectiveSum::add ? result + other : std::max(result, other);
    }
    return result;
  }

  void all_reduce(CollectiveSum sum) {
    Bytes result = own();
    group_.all_reduce(result, dtype_, sum);
    for (size_t i = 0; i < count_ * size_; ++i)
      expect(element(result, i, dtype_) == expected(i, sum), "all_reduce");
  }

  void reduce_scatter(CollectiveSum sum) {
    Bytes result(bytes());
    group_.reduce_scatter(own(), result, dtype_, sum);
    const size_t begin = static_cast<size_t>(group_.rank()) * count_;
    for (size_t i = 0; i < count_; ++i)
      expect(element(result, i, dtype_) == expected(begin + i, sum), "reduce_scatter");
    Bytes in_place = own();
    const std::span<std::byte> part =
        std::span(in_place).subspan(begin * static_cast<size_t>(size_of(dtype_)), bytes());
    group_.reduce_scatter(in_place, part, dtype_, sum);
    expect(std::ranges::equal(part, result), "reduce_scatter in place");
  }

  void all_gather() {
    Bytes result(size_ * own().size());
    group_.all_gather(own(), result);
    for (size_t rank = 0; rank < size_; ++rank)
      expect(std::ranges::equal(std::span(result).subspan(rank * own().size(), own().size()), data_[rank]),
             "all_gather");
  }

  void all_to_all() {
    Bytes result(own().size());
    group_.all_to_all(own(), result);
    const size_t part = static_cast<size_t>(group_.rank()) * bytes();
    for (size_t rank = 0; rank < size_; ++rank)
      expect(std::ranges::equal(std::span(result).subspan(rank * bytes(), bytes()),
                                std::span(data_[rank]).subspan(part, bytes())),
             "all_to_all");
  }

  Communicator& group_;
  size_t size_, count_;
  DType dtype_;
  std::vector<Bytes> data_;
};

class SharedMemory : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SharedMemory, testing::Values(1, 2, 3, 4, 8));

TEST_P(SharedMemory, CollectivesOfAllSizesAndTypes) {
  expect_all_good(run_rank_processes(GetParam(), [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    // 512 bytes a chunk, so that sizes are below, at and above one.
    const auto group = share_memory(link, all_ranks(launch.size), {512});
    uint32_t seed = 1;
    for (const size_t count : {0, 1, 7, 64, 65, 300})
      for (const DType dtype : kSummed) Case(*group, ++seed, count, dtype).run();
    link.leave();
  }));
}

TEST_P(SharedMemory, MessagesKeepTheirOrder) {
  expect_all_good(run_rank_processes(GetParam(), [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const auto group = share_memory(link, all_ranks(launch.size), {256});
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {  // all ranks draw the same messages
      const int64_t from = static_cast<int64_t>(random()) % launch.size,
                    to = static_cast<int64_t>(random()) % launch.size;
      Bytes message(random() % 1500, static_cast<std::byte>(i));
      if (from == to) continue;
      if (launch.rank == from) group->send(message, to);
      if (launch.rank != to) continue;
      Bytes received(message.size());
      group->receive(received, from);
      expect(received == message, "a message");
    }
    link.leave();
  }));
}

TEST(SharedMemoryGroups, ChunksOfTheirUsualSize) {
  expect_all_good(run_rank_processes(3, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const auto group = share_memory(link, all_ranks(launch.size));
    Case(*group, 5, (size_t{140} << 10) / static_cast<size_t>(launch.size) + 3, DType::bf16).run();
    link.leave();
  }));
}

TEST(SharedMemoryGroups, AllSendBeforeAnyReceives) {
  expect_all_good(run_rank_processes(4, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const auto group = share_memory(link, all_ranks(4), {256});
    const int64_t next = (launch.rank + 1) % 4, last = (launch.rank + 3) % 4;
    for (int i = 0; i < 3; ++i) {
      for (const size_t bytes : {10000, 0, 3000})
        group->send(Bytes(bytes, static_cast<std::byte>(launch.rank)), next);
      for (const size_t bytes : {10000, 0, 3000}) {
        Bytes received(bytes);
        group->receive(received, last);
        expect(received == Bytes(bytes, static_cast<std::byte>(last)), "a message");
      }
      Bytes sum(8);
      group->all_reduce(sum, DType::i64, CollectiveSum::add);
    }
    link.leave();
  }));
}

TEST(SharedMemoryGroups, AlongTheAxesOfAMesh) {
  expect_all_good(run_rank_processes(8, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const int64_t rank = launch.rank;  // of {4, 2}: rows of two, columns of four
    const std::vector<int64_t> row = {rank / 2 * 2, rank / 2 * 2 + 1};
    const std::vector<int64_t> column = {rank % 2, rank % 2 + 2, rank % 2 + 4, rank % 2 + 6};
    const auto in_row = share_memory(link, row, {1024}), in_column = share_memory(link, column, {1024});
    const auto alone = share_memory(link, std::vector<int64_t>{rank});
    for (int i = 0; i < 50; ++i) {
      int32_t r = launch.rank, c = launch.rank, a = launch.rank;
      in_row->all_reduce(std::as_writable_bytes(std::span(&r, 1)), DType::i32, CollectiveSum::add);
      in_column->all_reduce(std::as_writable_bytes(std::span(&c, 1)), DType::i32, CollectiveSum::add);
      alone->all_reduce(std::as_writable_bytes(std::span(&a, 1)), DType::i32, CollectiveSum::add);
      expect(r == row[0] + row[1], "a row's sum");
      expect(c == 4 * (rank % 2) + 12, "a column's sum");
      expect(a == launch.rank, "the sum of one");
    }
    link.leave();
  }));
}

TEST(SharedMemoryGroups, TheSameBitsAgain) {
  std::vector<std::string> texts;
  for (int run = 0; run < 2; ++run) {
    const auto ends = run_rank_processes(4, [](const Launch& launch, Socket listener) {
      RankLink link(launch, std::move(listener));
      const auto group = share_memory(link, all_ranks(launch.size), {4096});
      std::mt19937 random(static_cast<uint32_t>(launch.rank));
      std::vector<double> values(3000);
      for (double& value : values) value = std::normal_distribution<double>()(random);
      group->all_reduce(std::as_writable_bytes(std::span(values)), DType::f64, CollectiveSum::add);
      link.leave();
      const Bytes bytes(std::as_bytes(std::span(values)).begin(), std::as_bytes(std::span(values)).end());
      fail("{}", std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    });
    for (const RankEnd& end : ends) texts.push_back(end.text);
  }
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(SharedMemoryGroups, NoNameIsLeftBehind) {
  expect_all_good(run_rank_processes(3, [](const Launch& launch, Socket listener) {
    RankLink link(launch, std::move(listener));
    const auto group = share_memory(link, all_ranks(3));
    link.barrier("mapped");
    std::ifstream maps("/proc/self/maps");
    int mapped = 0;
    for (std::string line; std::getline(maps, line);)
      if (line.find("/smelt-") != std::string::npos) {
        ++mapped;
        expect(line.ends_with("(deleted)"), "the name of " + line);
      }
    expect(mapped > 0, "no mapping was found");
    link.leave();
  }));
}

}  // namespace
}  // namespace smelt
