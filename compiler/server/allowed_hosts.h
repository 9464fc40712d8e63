// AllowedHosts: the host names under which a server accepts requests. A browser sends the host name that its
// page uses. So a page of another host is refused, even if its DNS record points at this machine (DNS
// rebinding).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::server {

/// Host and port of a URL, with the text "name:port", "name", "[v6]:port" or "[v6]".
struct Authority {
  std::string name;  // in lower case; without the brackets of an IPv6 address
  std::optional<int> port;

  bool operator==(const Authority&) const = default;
};
/// Returns the host and port; an empty result if the text does not have this form.
std::optional<Authority> parse_authority(std::string_view text);

class AllowedHosts {
 public:
  struct Listener {
    std::string host, address;  // as the user gave it, and as a numeric address
    bool is_loopback = true;    // only this machine can connect
    int port = 0;
  };
  /// `named`: hosts to allow in addition to the server's own; a host without a port is allowed with every
  /// port. Throws Error if one of them is neither a host nor a host with a port.
  explicit AllowedHosts(const std::vector<std::string>& named);
  /// Sets the address that the server listens at, which determines its own hosts.
  void listen(const Listener& listener);

  /// Checks the fields Host and Origin of a request, which are empty if the request does not have them. A
  /// missing field is allowed. Throws ApiError (403) if a host is not allowed.
  void check(const std::optional<std::string>& host, const std::optional<std::string>& origin) const;

 private:
  bool is_host(const Authority& authority) const;
  bool is_origin(const Authority& origin, const std::optional<Authority>& host) const;
  std::string expected() const;

  std::vector<Authority> named_, own_;  // own_: hosts of listener_, with its port
  Listener listener_;
};

}  // namespace smelt::server
