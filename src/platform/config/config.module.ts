import { Global, Module, type DynamicModule } from '@nestjs/common';
import { Config } from './config.js';

/** Gives every module the settings that the process was started with. */
@Global()
@Module({})
export class ConfigModule {
  static register(config: Config): DynamicModule {
    return { module: ConfigModule, providers: [{ provide: Config, useValue: config }], exports: [Config] };
  }
}
