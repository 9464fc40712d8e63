// A cache of compiled constraints (constraint.h). The key is the specification, such as a JSON Schema.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/structured/constraint.h"
#include "runtime/structured/specification.h"

namespace smelt::structured {

struct ConstraintCacheOptions {
  size_t most_entries = 64;
  /// Largest number of bytes of the cache: texts of specifications, automata and masks of tokens. The number
  /// is approximate.
  size_t most_bytes = size_t{256} << 20;
};

/// Compiles specifications that the cache does not have. If the cache is full, drops the least recently used
/// constraints. Thread-safe.
class ConstraintCache {
 public:
  explicit ConstraintCache(std::shared_ptr<const ConstraintTokens> tokens,
                           ConstraintCacheOptions options = {})
      : tokens_(std::move(tokens)), options_(options) {}

  /// Returns the constraint of a specification. Other threads are not blocked while it is compiled. Throws
  /// the errors of compile(), after which nothing is stored.
  std::shared_ptr<Constraint> get(const Specification& specification);

  /// Returns the number of constraints in the cache, and the number of specifications compiled so far.
  size_t entries() const;
  size_t compiled() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<Constraint> constraint;
  };

  std::shared_ptr<Constraint> find(const std::string& key);
  std::shared_ptr<Constraint> store(const std::string& key, std::shared_ptr<Constraint> constraint);
  void bound();

  std::shared_ptr<const ConstraintTokens> tokens_;
  ConstraintCacheOptions options_;
  mutable std::mutex mutex_;  // guards the members below
  std::list<Entry> entries_;  // the most recently used one is the first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  size_t compiled_ = 0;
};

}  // namespace smelt::structured
