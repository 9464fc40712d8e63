# Licences of what packages contain, as Debian has them.
set(smelt_bundled libopenblas-openmp-dev libfmt-dev libpcre2-dev libutf8proc-dev zlib1g-dev libzstd-dev libsnappy-dev
                  libjpeg62-turbo-dev libpng-dev llvm-19-dev liblld-19-dev nlohmann-json3-dev libcli11-dev libboost-dev libgomp1 libstdc++-12-dev)

# smelt_install_licenses(FOLDER COMPONENT [option...]): one text per Debian package.
function(smelt_install_licenses folder component)
  foreach(package IN LISTS smelt_bundled)
    if(EXISTS /usr/share/doc/${package}/copyright)
      file(REAL_PATH /usr/share/doc/${package}/copyright text)
      install(FILES ${text} RENAME ${package}.txt DESTINATION ${folder} COMPONENT ${component} ${ARGN})
    endif()
  endforeach()
endfunction()
