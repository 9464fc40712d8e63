// The hosts that a server answers for. A browser sends the name that its page used, so a page of another host
// gets nothing here, even where its DNS record points at this machine (DNS rebinding).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::server {

/// "name:port", "name", "[v6]:port" or "[v6]".
struct Authority {
  std::string name;  // in lower case; without the brackets of an IPv6 address
  std::optional<int> port;

  bool operator==(const Authority&) const = default;
};
/// Returns nothing where the text is no authority.
std::optional<Authority> parse_authority(std::string_view text);

class AllowedHosts {
 public:
  struct Listener {
    std::string host, address;  // as the option names it, and as a number
    bool is_loopback = true;
    int port = 0;
  };
  /// `named`: further hosts, with a port or for every port. Throws Error where one is no authority.
  explicit AllowedHosts(const std::vector<std::string>& named);
  /// Adds the hosts of the address that the server listens at.
  void listen(const Listener& listener);

  /// Checks the Host and Origin fields of a request; nothing where there is none. Throws ApiError (403).
  void check(const std::optional<std::string>& host, const std::optional<std::string>& origin) const;

 private:
  bool is_host(const Authority& authority) const;
  bool is_origin(const Authority& origin, const std::optional<Authority>& host) const;
  std::string expected() const;

  std::vector<Authority> named_, own_;  // own_: with the port that is listened at
  Listener listener_;
};

}  // namespace smelt::server
