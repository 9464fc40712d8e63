// Batches from any kind of data. Training reads an endless stream: each batch is a pure function of (seed,
// step, micro-step), so that a resumed run replays nothing. Evaluation reads a fixed list.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/engine/data/packed_data.h"
#include "runtime/engine/data/records.h"
#include "runtime/engine/data/token_data.h"
#include "runtime/session/batch.h"

namespace smelt {

class BatchStream {
 public:
  virtual ~BatchStream() = default;
  virtual void fill(int64_t step, int64_t micro_step, Batch& batch) = 0;
  /// Returns the shapes, without data, of the largest batch.
  virtual std::vector<InputTensor> largest() const = 0;
};

class BatchList {
 public:
  virtual ~BatchList() = default;
  virtual int64_t size() const = 0;
  virtual void fill(int64_t index, Batch& batch) = 0;
};

using DataPart = std::variant<TokenRange, RecordRange, PackedRange>;

struct DataSplit {
  DataPart train, held_back;
  DataSplit(DataPart train, DataPart held_back) : train(std::move(train)), held_back(std::move(held_back)) {}
  DataSplit(TokenSplit split) : train(split.train), held_back(split.held_back) {}   // NOLINT: one kind of it
  DataSplit(RecordSplit split) : train(split.train), held_back(split.held_back) {}  // NOLINT
};

/// Position of a run in the epochs of a stream: before update `step` it has seen `epoch` whole epochs and the
/// first `record` records of the next one, in its order.
struct StreamPlace {
  int64_t step = 0, epoch = 0, record = 0;
};

struct BatchOptions {
  int64_t batch = 8;        // windows, records or packed rows
  int64_t length = 128;     // tokens per window
  int64_t micro_steps = 1;  // batches per step
  uint32_t seed = 0;
  StreamPlace from = {};  // position at which the stream begins; windows ignore it
};

/// Returns the place before update `step` of a stream of `records` records with these options.
StreamPlace place_at(int64_t step, int64_t records, const BatchOptions& options);

/// Creates a stream of windows at random positions, or of records or packed rows in an order that is shuffled
/// anew each epoch. The last batch of an epoch may be smaller. Throws Error if the part holds too little.
std::unique_ptr<BatchStream> make_stream(const DataPart& part, const BatchOptions& options);
/// Returns the documents of the part concatenated in rows; packed rows are returned unchanged.
DataPart pack(const DataPart& part, const PackOptions& options);
/// Creates a list of at most max_batches batches, spread evenly; the last may be smaller.
std::unique_ptr<BatchList> make_list(const DataPart& part, const BatchOptions& options, int64_t max_batches);

}  // namespace smelt
