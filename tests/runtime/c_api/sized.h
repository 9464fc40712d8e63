// Structs of the C interface as an application makes them.
#pragma once

namespace smelt {

/// All zero but for its size.
template <typename T>
T sized() {
  T made{};
  made.struct_size = sizeof made;
  return made;
}

}  // namespace smelt
