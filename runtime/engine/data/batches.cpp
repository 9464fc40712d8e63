#include "runtime/engine/data/batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/base/philox.h"

namespace smelt {
namespace {

constexpr uint32_t kShuffleId = 0x53485546;  // its own stream of random numbers, different from dropout's ids

/// Adds windows: the tokens that a decoder reads and its targets.
std::span<int32_t> add_windows(int64_t rows, int64_t length, Batch& batch) {
  batch.clear();
  batch.tokens = rows * length;
  auto* ids = reinterpret_cast<int32_t*>(batch.add("input_ids", DType::i32, {rows, length}));
  return {ids, static_cast<size_t>(rows * length)};
}

void copy_to_labels(std::span<const int32_t> ids, int64_t rows, int64_t length, Batch& batch) {
  auto* labels = reinterpret_cast<int32_t*>(batch.add("labels", DType::i32, {rows, length}));
  std::ranges::copy(ids, labels);
}

class WindowStream : public BatchStream {
 public:
  WindowStream(const TokenRange& range, const BatchOptions& o)
      : windows_(range, o.batch, o.length, o.seed), batch_(o.batch), length_(o.length) {}

  void fill(int64_t step, int64_t micro_step, Batch& batch) override {
    const auto ids = add_windows(batch_, length_, batch);
    windows_.fill(step, micro_step, ids);
    copy_to_labels(ids, batch_, length_, batch);
  }
  std::vector<InputTensor> largest() const override {
    const std::vector<int64_t> shape = {batch_, length_};
    return {{"input_ids", DType::i32, shape, nullptr}, {"labels", DType::i32, shape, nullptr}};
  }

 private:
  RandomWindows windows_;
  int64_t batch_, length_;
};

class WindowList : public BatchList {
 public:
  WindowList(const TokenRange& range, const BatchOptions& o, int64_t max_batches)
      : windows_(range, o.batch, o.length, max_batches), length_(o.length) {}

  int64_t size() const override { return windows_.batches(); }
  void fill(int64_t index, Batch& batch) override {
    const auto ids = add_windows(windows_.rows(index), length_, batch);
    windows_.fill(index, ids);
    copy_to_labels(ids, windows_.rows(index), length_, batch);
  }

 private:
  FixedWindows windows_;
  int64_t length_;
};

void require_batch(int64_t batch) {
  if (batch < 1) fail("batch of {} records: expected at least 1", batch);
}

/// The records of one batch: a part of an epoch's order.
struct EpochPart {
  int64_t epoch, begin, count;
};

/// Batch `number` from a place on; the last one of an epoch may be smaller.
EpochPart part_of_epoch(int64_t number, int64_t records, int64_t batch, const StreamPlace& from) {
  const auto batches_from = [&](int64_t record) { return (records - record + batch - 1) / batch; };
  const int64_t first = batches_from(from.record), each = batches_from(0);
  const bool is_first = number < first;
  const int64_t begin = is_first ? from.record + number * batch : (number - first) % each * batch;
  const int64_t epoch = is_first ? from.epoch : from.epoch + 1 + (number - first) / each;
  return {epoch, begin, std::min(batch, records - begin)};
}

/// Returns the place in data with fewer records than those of the place: the begin of their next epoch.
StreamPlace within(StreamPlace place, int64_t records) {
  if (place.record >= records) place = {place.step, place.epoch + 1, 0};
  return place;
}

/// Data: RecordData, ExampleData, ImageData or PackedData.
template <typename Data>
class ItemStream : public BatchStream {
 public:
  ItemStream(Part<Data> range, const BatchOptions& o)
      : range_(std::move(range)),
        batch_(o.batch),
        micro_steps_(o.micro_steps),
        seed_(o.seed),
        from_(within(o.from, range_.size())) {
    require_batch(batch_);
    if (range_.size() == 0) fail("{}: there are no {} to train on", range_.data->description(), Data::kItems);
    order_.resize(static_cast<size_t>(range_.size()));
  }

  void fill(int64_t step, int64_t micro_step, Batch& batch) override {
    const int64_t number = (step - from_.step) * micro_steps_ + micro_step;
    const EpochPart part = part_of_epoch(number, range_.size(), batch_, from_);
    if (part.epoch != epoch_) shuffle(part.epoch);
    range_.data->read(
        std::span(order_).subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.count)), batch);
  }
  std::vector<InputTensor> largest() const override {
    return range_.data->largest(std::min(batch_, range_.size()));
  }

 private:
  /// Fisher and Yates: every order is as likely.
  void shuffle(int64_t epoch) {
    std::iota(order_.begin(), order_.end(), range_.begin);
    const Philox random{.seed = seed_, .step = static_cast<uint32_t>(epoch), .micro_step = 0};
    for (size_t left = order_.size(); left > 1; --left) {
      const auto w = random.words(kShuffleId, static_cast<uint32_t>(left), static_cast<uint32_t>(left >> 32));
      const auto bits = static_cast<unsigned __int128>(uint64_t{w[1]} << 32 | w[0]);
      std::swap(order_[left - 1], order_[static_cast<size_t>((bits * left) >> 64)]);
    }
    epoch_ = epoch;
  }

  Part<Data> range_;
  int64_t batch_, micro_steps_;
  uint32_t seed_;
  StreamPlace from_;
  std::vector<int64_t> order_;
  int64_t epoch_ = -1;  // that order_ is of
};

template <typename Data>
class ItemList : public BatchList {
 public:
  ItemList(Part<Data> range, const BatchOptions& o, int64_t max_batches)
      : range_(std::move(range)), batch_(o.batch) {
    require_batch(batch_);
    if (max_batches < 1) fail("validation with {} batches: expected at least 1", max_batches);
    const int64_t all = range_.size();
    if (all == 0)
      fail(
          "{}: no {} are held back for validation; hold back a larger fraction, give a validation file, or "
          "turn validation off",
          range_.data->description(), Data::kItems);
    rows_ = max_batches > all / batch_ ? all : max_batches * batch_;
  }

  int64_t size() const override { return (rows_ + batch_ - 1) / batch_; }
  void fill(int64_t index, Batch& batch) override {
    std::vector<int64_t> rows;
    for (int64_t row = index * batch_; row < std::min(rows_, (index + 1) * batch_); ++row)
      rows.push_back(range_.begin + static_cast<int64_t>(static_cast<__int128>(row) * range_.size() / rows_));
    range_.data->read(rows, batch);
  }

 private:
  Part<Data> range_;
  int64_t batch_, rows_ = 0;
};

/// Returns the number of batches from the place options.from to the end of `epochs` epochs of records.
double batches_of_epochs(double epochs, int64_t records, const BatchOptions& options) {
  const StreamPlace from = within(options.from, records);
  const double whole = std::floor(epochs);
  const auto batches_of = [&](double count) { return std::ceil(count / static_cast<double>(options.batch)); };
  const auto all = static_cast<double>(records);
  const auto epoch = static_cast<double>(from.epoch), record = static_cast<double>(from.record);
  const double part = std::ceil((epochs - whole) * all);
  if (whole < epoch + 1) return whole < epoch ? 0 : batches_of(std::max(0.0, part - record));
  const double last = batches_of(part);
  return batches_of(all - static_cast<double>(from.record)) +
         (whole - static_cast<double>(from.epoch + 1)) * batches_of(all) + last;
}

}  // namespace

StreamPlace place_at(int64_t step, int64_t records, const BatchOptions& options) {
  const StreamPlace from = within(options.from, records);
  const int64_t batches = (step - from.step) * options.micro_steps;
  if (batches == 0) return {step, from.epoch, from.record};
  const EpochPart last = part_of_epoch(batches - 1, records, options.batch, from);
  return within({step, last.epoch, last.begin + last.count}, records);
}

int64_t steps_of_epochs(const DataPart& part, double epochs, const BatchOptions& options) {
  const int64_t items = std::visit([](const auto& range) { return range.size(); }, part);
  const bool windows = std::holds_alternative<TokenRange>(part);
  const double batches =
      windows ? epochs * static_cast<double>(items) / static_cast<double>(options.batch * options.length)
              : batches_of_epochs(epochs, items, options);
  const double steps = std::ceil(batches / static_cast<double>(options.micro_steps));
  return std::max<int64_t>(1, (windows ? 0 : options.from.step) + static_cast<int64_t>(steps));
}

std::unique_ptr<BatchStream> make_stream(const DataPart& part, const BatchOptions& options) {
  if (const auto* tokens = std::get_if<TokenRange>(&part))
    return std::make_unique<WindowStream>(*tokens, options);
  if (const auto* rows = std::get_if<PackedRange>(&part))
    return std::make_unique<ItemStream<PackedData>>(*rows, options);
  if (const auto* examples = std::get_if<ExampleRange>(&part))
    return std::make_unique<ItemStream<ExampleData>>(*examples, options);
  if (const auto* images = std::get_if<ImageRange>(&part))
    return std::make_unique<ItemStream<ImageData>>(*images, options);
  return std::make_unique<ItemStream<RecordData>>(std::get<RecordRange>(part), options);
}

std::unique_ptr<BatchList> make_list(const DataPart& part, const BatchOptions& options, int64_t max_batches) {
  if (const auto* tokens = std::get_if<TokenRange>(&part))
    return std::make_unique<WindowList>(*tokens, options, max_batches);
  if (const auto* rows = std::get_if<PackedRange>(&part))
    return std::make_unique<ItemList<PackedData>>(*rows, options, max_batches);
  if (const auto* examples = std::get_if<ExampleRange>(&part))
    return std::make_unique<ItemList<ExampleData>>(*examples, options, max_batches);
  if (const auto* images = std::get_if<ImageRange>(&part))
    return std::make_unique<ItemList<ImageData>>(*images, options, max_batches);
  return std::make_unique<ItemList<RecordData>>(std::get<RecordRange>(part), options, max_batches);
}

DataPart pack(const DataPart& part, const PackOptions& options) {
  std::shared_ptr<const Documents> documents;
  if (const auto* tokens = std::get_if<TokenRange>(&part))
    documents = std::make_shared<const TokenDocuments>(*tokens, options);
  else if (const auto* records = std::get_if<RecordRange>(&part))
    documents = std::make_shared<const RecordDocuments>(*records);
  else if (const auto* examples = std::get_if<ExampleRange>(&part))
    documents = std::make_shared<const ExampleDocuments>(*examples);
  else
    return part;
  auto data = std::make_shared<const PackedData>(std::move(documents), options);
  return PackedRange{data, 0, data->size()};
}

}  // namespace smelt
