// Initialization of structs of the C interface.
#pragma once

namespace smelt {

/// Returns a struct whose members are zero, except struct_size.
template <typename T>
T sized() {
  T made{};
  made.struct_size = sizeof made;
  return made;
}

}  // namespace smelt
