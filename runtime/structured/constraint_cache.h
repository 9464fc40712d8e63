// A cache of constraints by their specifications.
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
  /// Largest approximate number of bytes of all constraints of the cache: texts of specifications, automata
  /// and masks of tokens.
  size_t most_bytes = size_t{256} << 20;
};

/// Compiles each specification once, as long as the cache has room for it. The least recently used ones are
/// dropped. Thread-safe.
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
