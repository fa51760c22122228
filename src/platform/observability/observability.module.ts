import { Global, Module } from '@nestjs/common';
import { ErrorRecords } from './error-records.js';

@Global()
@Module({ providers: [ErrorRecords], exports: [ErrorRecords] })
export class ObservabilityModule {}
