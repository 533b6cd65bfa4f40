package main

import (
	"context"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// mountDisk shows the disk at a path. The kernel caches no name and no
// attribute beyond a call, and no page beyond an open, so that a restore is
// seen at once.
func mountDisk(path string, d *disk) (*fuse.Server, error) {
	var zero time.Duration
	return fs.Mount(path, &dirNode{disk: d, dir: d.root}, &fs.Options{
		EntryTimeout: &zero, AttrTimeout: &zero, NegativeTimeout: &zero,
		MountOptions: fuse.MountOptions{FsName: "lazyfs", Name: "lazyfs", DirectMountStrict: true, DisableXAttrs: true},
	})
}

type dirNode struct {
	fs.Inode
	disk *disk
	dir  *dir
}

type fileNode struct {
	fs.Inode
	disk *disk
	file *file
}

var (
	_ fs.NodeLookuper  = (*dirNode)(nil)
	_ fs.NodeMkdirer   = (*dirNode)(nil)
	_ fs.NodeCreater   = (*dirNode)(nil)
	_ fs.NodeUnlinker  = (*dirNode)(nil)
	_ fs.NodeRmdirer   = (*dirNode)(nil)
	_ fs.NodeRenamer   = (*dirNode)(nil)
	_ fs.NodeReaddirer = (*dirNode)(nil)
	_ fs.NodeFsyncer   = (*dirNode)(nil)
	_ fs.NodeOpener    = (*fileNode)(nil)
	_ fs.NodeReader    = (*fileNode)(nil)
	_ fs.NodeWriter    = (*fileNode)(nil)
	_ fs.NodeFsyncer   = (*fileNode)(nil)
	_ fs.NodeGetattrer = (*fileNode)(nil)
	_ fs.NodeSetattrer = (*fileNode)(nil)
)

// show makes the inode of an entry and fills in what stat says of it.
func (n *dirNode) show(ctx context.Context, e node, out *fuse.EntryOut) *fs.Inode {
	if f, ok := e.(*file); ok {
		fillFile(&out.Attr, f)
		return n.NewInode(ctx, &fileNode{disk: n.disk, file: f}, fs.StableAttr{Mode: syscall.S_IFREG, Ino: f.ino})
	}
	out.Attr.Mode = syscall.S_IFDIR | 0o700
	return n.NewInode(ctx, &dirNode{disk: n.disk, dir: e.(*dir)}, fs.StableAttr{Mode: syscall.S_IFDIR, Ino: e.number()})
}

func fillFile(a *fuse.Attr, f *file) {
	a.Mode, a.Size, a.Blocks = syscall.S_IFREG|0o600, uint64(len(f.live)), uint64(len(f.live)+sector-1)/sector
}

func (n *dirNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (in *fs.Inode, errno syscall.Errno) {
	errno = n.disk.do(func() syscall.Errno {
		e, ok := n.dir.live[name]
		if !ok {
			return syscall.ENOENT
		}
		in = n.show(ctx, e, out)
		return 0
	})
	return in, errno
}

func (n *dirNode) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (in *fs.Inode, errno syscall.Errno) {
	errno = n.disk.do(func() syscall.Errno {
		made := n.disk.newDir()
		n.dir.live[name] = made
		in = n.show(ctx, made, out)
		return 0
	})
	return in, errno
}

func (n *dirNode) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (in *fs.Inode, fh fs.FileHandle, flags uint32, errno syscall.Errno) {
	errno = n.disk.do(func() syscall.Errno {
		made := &file{ino: n.disk.next()}
		n.dir.live[name] = made
		in = n.show(ctx, made, out)
		return 0
	})
	return in, nil, 0, errno
}

func (n *dirNode) Unlink(_ context.Context, name string) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		delete(n.dir.live, name)
		return 0
	})
}

func (n *dirNode) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		if d, ok := n.dir.live[name].(*dir); ok && len(d.live) > 0 {
			return syscall.ENOTEMPTY
		}
		delete(n.dir.live, name)
		return 0
	})
}

func (n *dirNode) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, _ uint32) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		other, moved := to.(*dirNode).dir, n.dir.live[name]
		for _, entries := range []map[string]node{n.dir.live, n.dir.durable} {
			delete(entries, name)
		}
		other.live[newName], other.durable[newName] = moved, moved
		return 0
	})
}

func (n *dirNode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	errno := n.disk.do(func() syscall.Errno {
		for name, e := range n.dir.live {
			mode := uint32(syscall.S_IFREG)
			if _, ok := e.(*dir); ok {
				mode = syscall.S_IFDIR
			}
			list = append(list, fuse.DirEntry{Name: name, Mode: mode, Ino: e.number()})
		}
		return 0
	})
	return fs.NewListDirStream(list), errno
}

func (n *dirNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		n.disk.syncDir(n.dir)
		return 0
	})
}

func (n *fileNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, n.disk.do(func() syscall.Errno { return 0 })
}

func (n *fileNode) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	read := 0
	errno := n.disk.do(func() syscall.Errno {
		if off < int64(len(n.file.live)) {
			read = copy(dest, n.file.live[off:])
		}
		return 0
	})
	return fuse.ReadResultData(dest[:read]), errno
}

func (n *fileNode) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	errno := n.disk.do(func() syscall.Errno {
		n.file.write(data, off)
		return 0
	})
	return uint32(len(data)), errno
}

func (n *fileNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		n.disk.syncFile(n.file)
		return 0
	})
}

func (n *fileNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		fillFile(&out.Attr, n.file)
		return 0
	})
}

func (n *fileNode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.disk.do(func() syscall.Errno {
		if size, ok := in.GetSize(); ok {
			n.file.truncate(int64(size))
		}
		fillFile(&out.Attr, n.file)
		return 0
	})
}
