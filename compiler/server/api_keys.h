// Keys that clients have to send, and the limit on the concurrent requests of a client.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smelt::server {

/// A list of keys with names. Without keys, every client may use the server.
class ApiKeys {
 public:
  static constexpr size_t kFewestCharacters = 16, kMostCharacters = 256;  // of a key

  ApiKeys() = default;
  /// Reads a file with one key per line: `KEY`, or `NAME KEY`. Empty lines and lines that begin with # are
  /// ignored. The name of a key without one is `key N`, where N counts the keys from 1. Throws Error with the
  /// number of the line if a line has another form, or if a key or a name occurs twice. Throws Error if there
  /// is no key.
  static ApiKeys load(const std::filesystem::path& path);

  bool empty() const { return keys_.empty(); }
  /// Returns the name of the key in the value of an Authorization field, "Bearer KEY"; without keys, an empty
  /// name for any value. Throws ApiError (401) if there are keys and the value has none of them. The time
  /// that the comparison takes does not depend on which characters of a key are right.
  std::string name_of(const std::optional<std::string>& authorization) const;

 private:
  struct Key {
    std::string name, text;
  };
  void add(std::string name, std::string text);
  std::vector<Key> keys_;
};

/// Counts the requests per client that are being answered. Not thread-safe.
class OpenRequests {
 public:
  /// A request that is being answered. The request is open until the last copy of its claim is destroyed. A
  /// claim may outlive OpenRequests.
  using Claim = std::shared_ptr<const void>;

  /// `most`: the most open requests of a client; 0: any number.
  explicit OpenRequests(size_t most) : most_(most) {}
  /// Counts one more request of a client. Throws ApiError (429) if it would be more than `most`.
  Claim open(const std::string& client);

 private:
  size_t most_;
  std::map<std::string, std::shared_ptr<size_t>> counts_;
};

}  // namespace smelt::server
