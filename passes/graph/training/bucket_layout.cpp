#include "passes/graph/training/bucket_layout.h"

#include <algorithm>
#include <optional>

namespace smelt {
namespace {

/// Elements of a row of a bucket: rows of long temporaries have such a pitch, and kernels over a long part
/// want many rows, each of them long enough for a block.
constexpr int64_t kShortRow = 64, kLongRow = 4096, kLongPart = 1 << 20;
/// At most one element per kPadding of a stretch is padding.
constexpr int64_t kPadding = 32;
/// Costs of an element of padding, which every state has, and of an element of the largest size for each
/// bucket, which is one more collective; an element of a stretch costs 1.
constexpr double kPaddingWeight = 16, kBucketWeight = 0.5;
/// Most sizes that are tried, and the ratio of the smallest to the largest.
constexpr int64_t kSizes = 1024;
constexpr double kSmallest = 0.75;

int64_t round_up_to(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// One layout and what it costs.
struct Candidate {
  BucketLayout layout;
  int64_t padding = 0;  // elements
  double cost = 0;
};

class BucketSearch {
 public:
  BucketSearch(const std::vector<int64_t>& runs, const BucketLimits& limits) : runs_(runs), limits_(limits) {
    for (const int64_t run : runs) dense_ = round_up_to(dense_, limits_.alignment) + run;
  }

  BucketLayout run() {
    if (dense_ == 0) return {};
    const int64_t buckets = std::max<int64_t>(1, (dense_ + limits_.most - 1) / limits_.most);
    const int64_t least = (dense_ + buckets - 1) / buckets;
    const int64_t row = least / limits_.ranks < kLongPart ? kShortRow : kLongRow, step = row * limits_.ranks;
    Candidate best = with_size(round_up_to(least, step), row, buckets);
    if (buckets == 1) return best.layout;
    const int64_t largest = limits_.most / step * step,
                  skip = std::max<int64_t>(1, largest / step / kSizes) * step;
    for (int64_t size = largest; size > 0 && size >= kSmallest * static_cast<double>(limits_.most);
         size -= skip)
      if (Candidate next = with_size(size, row, std::nullopt);
          next.cost < best.cost && next.padding <= dense_ / limits_.padding)
        best = std::move(next);
    return best.layout;
  }

 private:
  /// Without padding between runs where a number of buckets is given.
  Candidate with_size(int64_t size, int64_t row, std::optional<int64_t> dense) const {
    Candidate made;
    made.layout.rows = size / row, made.layout.row = row;
    int64_t end = 0, stretch = 0;
    double squares = 0;
    const auto close = [&](int64_t at) {
      squares += static_cast<double>(at - stretch) * static_cast<double>(at - stretch);
      stretch = at;
    };
    for (const int64_t run : runs_) {
      made.layout.begins.push_back(round_up_to(end, limits_.alignment));
      end = made.layout.begins.back() + run;
      const int64_t border = round_up_to(end, size);
      if (!dense && border - end <= (border - stretch) / kPadding) close(end = border);
    }
    made.layout.buckets = dense.value_or(round_up_to(end, size) / size);
    const int64_t all = made.layout.buckets * size;
    close(all);
    made.padding = all - dense_;
    made.cost = kPaddingWeight * static_cast<double>(made.padding) + squares / static_cast<double>(all) +
                kBucketWeight * static_cast<double>(made.layout.buckets * limits_.most);
    return made;
  }

  const std::vector<int64_t>& runs_;
  BucketLimits limits_;
  int64_t dense_ = 0;  // elements without padding but for the alignment
};

}  // namespace

BucketLayout layout_in_buckets(const std::vector<int64_t>& runs, const BucketLimits& limits) {
  return BucketSearch(runs, limits).run();
}

}  // namespace smelt
