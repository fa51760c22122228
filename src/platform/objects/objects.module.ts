import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '@platform/config/config.js';
import { FolderStore } from './folder-store.js';
import { ObjectStore } from './object-store.js';
import { S3Store, storePolicy } from './s3-store.js';

function storeOf({ objects, egressAllow, production }: Config): ObjectStore | null {
  if (objects === null) return null;
  return 'folder' in objects ? new FolderStore(objects.folder) : new S3Store(objects, storePolicy(objects, egressAllow, { loopback: !production }));
}

/** `ObjectStore` is `null` where the installation was given none: whoever needs one says so. */
@Global()
@Module({ providers: [{ provide: ObjectStore, inject: [Config], useFactory: storeOf }], exports: [ObjectStore] })
export class ObjectsModule implements OnApplicationShutdown {
  constructor(@Inject(ObjectStore) private readonly store: ObjectStore | null) {}

  async onApplicationShutdown(): Promise<void> {
    if (this.store instanceof S3Store) await this.store.close();
  }
}
