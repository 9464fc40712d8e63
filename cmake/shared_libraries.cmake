# Shared libraries for applications in C and in languages that call C. They export the functions of their headers and
# nothing else, so that no symbol of theirs meets another library's (an LLVM, an fmt).

# Until 1.0 every minor version is an interface of its own.
set(SMELT_ABI_VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# smelt_shared_library(NAME OUTPUT_NAME EXPORTS [library...]): what the libraries have of the exported functions.
function(smelt_shared_library name output exports)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "// All of it is in the libraries that are linked.\n")
  add_library(${name} SHARED ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,--as-needed)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} VERSION ${PROJECT_VERSION} SOVERSION ${SMELT_ABI_VERSION}
                                           LINK_DEPENDS ${exports} INSTALL_RPATH_USE_LINK_PATH ON UNITY_BUILD OFF)
endfunction()

smelt_shared_library(smelt_shared smelt ${PROJECT_SOURCE_DIR}/runtime/c_api/exports.map
                     $<LINK_LIBRARY:WHOLE_ARCHIVE,smelt_runtime>)
smelt_shared_library(smelt_compiler_shared smelt_compiler ${PROJECT_SOURCE_DIR}/compiler/c_api/exports.map smelt_compiler)
target_link_options(smelt_compiler_shared PRIVATE -Wl,--undefined=smelt_compile)
