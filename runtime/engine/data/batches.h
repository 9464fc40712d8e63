// Batches of windows (consecutive tokens of token files), of records, of examples, of images, or of packed
// rows. Training reads an endless stream: each batch is a pure function of (seed, step, micro-step), so that
// a resumed run need not read earlier batches. Evaluation reads a fixed list.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/engine/data/examples.h"
#include "runtime/engine/data/image_data.h"
#include "runtime/engine/data/packed_data.h"
#include "runtime/engine/data/records.h"
#include "runtime/engine/data/token_data.h"
#include "runtime/session/batch.h"

namespace smelt {

/// Endless stream of batches for training. `step` is the number of an update, and `micro_step` the number of
/// a batch within the update, both from 0.
class BatchStream {
 public:
  virtual ~BatchStream() = default;
  /// Replaces the contents of `batch` by this batch of the stream.
  virtual void fill(int64_t step, int64_t micro_step, Batch& batch) = 0;
  /// Returns the inputs of the largest batch: names, types and shapes, with null data.
  virtual std::vector<InputTensor> largest() const = 0;
};

/// Fixed list of batches for evaluation.
class BatchList {
 public:
  virtual ~BatchList() = default;
  virtual int64_t size() const = 0;  // batches
  /// Replaces the contents of `batch` by batch number `index`.
  virtual void fill(int64_t index, Batch& batch) = 0;
};

/// A range of data of one kind: tokens, records, packed rows, examples, or images.
using DataPart = std::variant<TokenRange, RecordRange, PackedRange, ExampleRange, ImageRange>;

/// Training data, and held-back data for validation.
struct DataSplit {
  DataPart train, held_back;
  DataSplit(DataPart train, DataPart held_back) : train(std::move(train)), held_back(std::move(held_back)) {}
  DataSplit(TokenSplit split) : train(split.train), held_back(split.held_back) {}   // NOLINT: implicit
  DataSplit(RecordSplit split) : train(split.train), held_back(split.held_back) {}  // NOLINT
};

/// Position of a run in a stream: before update `step` the run has read `epoch` whole epochs and the first
/// `record` records of the next epoch, in the shuffled order of that epoch.
struct StreamPlace {
  int64_t step = 0, epoch = 0, record = 0;
};

/// Sizes and random seed of a stream or a list of batches.
struct BatchOptions {
  int64_t batch = 8;        // windows, records or packed rows per batch
  int64_t length = 128;     // tokens per window
  int64_t micro_steps = 1;  // batches per step
  uint32_t seed = 0;
  StreamPlace from = {};  // position at which the stream begins; windows ignore it
};

/// Returns the position before update `step` in a stream of `records` records with these options.
StreamPlace place_at(int64_t step, int64_t records, const BatchOptions& options);

/// Returns the number of updates after which a stream has read the data `epochs` times, at least 1; the last
/// update may go on into the next epoch. An epoch of windows, which are at random positions, has as many
/// tokens as the data.
int64_t steps_of_epochs(const DataPart& part, double epochs, const BatchOptions& options);

/// Creates a stream of windows at random positions, or of records or packed rows in an order that is shuffled
/// anew each epoch. The last batch of an epoch may be smaller. Throws Error if the part has fewer tokens than
/// a batch of windows, or no record or packed row.
std::unique_ptr<BatchStream> make_stream(const DataPart& part, const BatchOptions& options);
/// Returns the data as packed rows: the documents of the part, concatenated in rows. A part that has packed
/// rows is returned unchanged.
DataPart pack(const DataPart& part, const PackOptions& options);
/// Creates a list of at most `max_batches` batches. Their windows, records or packed rows are spread evenly
/// over the part. The last batch may be smaller. Throws Error if the part has none of these items.
std::unique_ptr<BatchList> make_list(const DataPart& part, const BatchOptions& options, int64_t max_batches);

}  // namespace smelt
