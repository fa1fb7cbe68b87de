#pragma once

#include "store/file/folder.hpp"

namespace pawl::store::file {

/// An inotify instance that can be read when the folder, or its gate, may have been deleted, moved or replaced, or what its
/// path leads through. Names that come and go in the folder (mailboxes) say nothing. It must be read empty, and the folder
/// looked at: what happened before is not told.
/// Limit: not told of what is mounted over the path, of a link that another link leads through, and of folders above that
///        this user may not read. Empty: there is none to be had.
Fd watch_folder(const Folder& folder);
void read_empty(int watch);

}  // namespace pawl::store::file
