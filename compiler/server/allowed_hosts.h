// AllowedHosts: the host names under which a server accepts requests. A browser sends the host name of the
// URL that it requests (Host), and that of the page that makes the request (Origin). So requests from a page
// of another host are refused, even if that host's DNS record points at this machine (DNS rebinding).
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
  /// The address and port that the server listens at.
  struct Listener {
    std::string host, address;  // the host as the user gave it, and its numeric address
    bool is_loopback = true;    // only this machine can connect
    int port = 0;
  };
  /// `named`: hosts to allow in addition to the names and addresses of the server itself; a host without a
  /// port is allowed with every port. Throws Error if one of them is neither a host nor a host with a port.
  explicit AllowedHosts(const std::vector<std::string>& named);
  /// Sets the address that the server listens at; from then on, its names and addresses are allowed hosts.
  void listen(const Listener& listener);

  /// Checks the header fields Host and Origin of a request; std::nullopt: the request does not have the
  /// field. A missing field is allowed. Throws ApiError (403) if a host is not allowed.
  void check(const std::optional<std::string>& host, const std::optional<std::string>& origin) const;

 private:
  bool is_host(const Authority& authority) const;
  bool is_origin(const Authority& origin, const std::optional<Authority>& host) const;
  std::string expected() const;

  std::vector<Authority> named_, own_;  // own_: names and addresses of listener_, with its port
  Listener listener_;
};

}  // namespace smelt::server
